// SPDX-License-Identifier: BSD-3-Clause
// The end of operations whose bytes lie in a packet that the user has filled and posted: the packet goes back to its
// pool.
#pragma once

#include <cstdint>

#include "core/memory/packet_pool.hpp"
#include "weft/completion.hpp"

namespace weft::core {

class packet_returns final : public completion {
 public:
  packet_returns(weft::runtime& owner, packet_pool& pool) noexcept : completion{owner}, pool_{&pool} {}

  /// The context of an operation with this packet.
  [[nodiscard]] static void* context_of(std::uint32_t packet) noexcept {
    return reinterpret_cast<void*>(std::uintptr_t{packet});
  }
  void put(std::uint32_t packet) noexcept { pool_->put(packet); }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override {
    put(static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(record.context())));
    return answer::taken;
  }

 private:
  packet_pool* pool_;
};

}  // namespace weft::core
