// SPDX-License-Identifier: BSD-3-Clause
// Payloads of messages without a receive that were copied out of their packets, since enough packets of their sender
// wait here (send_budget.hpp). So the sender has its packets back, and need not wait for a receive.
//
// Cost: a copy, and a block of memory (block_cache.hpp). Their bytes count within those of the pools
// (state_budget.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/memory/block_cache.hpp"
#include "core/memory/state_budget.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::core {

/// The owner of all copies. **Threads**: any.
class copied_payloads final : public detail::payload_owner {
 public:
  explicit copied_payloads(state_budget& state) noexcept : state_{&state} {}
  copied_payloads(const copied_payloads&) = delete;
  copied_payloads& operator=(const copied_payloads&) = delete;

  /// What a copy of `bytes` takes. A block ends behind the last whole word, as `net::arrival` requires.
  [[nodiscard]] static constexpr std::size_t bytes_of_copy(std::size_t bytes) noexcept {
    return block_cache::block_bytes(bytes);
  }

  /// Null: there is no memory for it.
  [[nodiscard]] const std::byte* try_copy(const std::byte* payload, std::uint32_t bytes) noexcept {
    if (!state_->try_take(bytes_of_copy(bytes))) return nullptr;
    void* const out = blocks_.try_get(bytes);
    if (out == nullptr) {
      state_->put_back(bytes_of_copy(bytes));
    } else {
      std::memcpy(out, payload, bytes);
    }
    return static_cast<const std::byte*>(out);
  }

  void release(void* data, std::size_t bytes) noexcept override {
    blocks_.put(data, bytes);
    state_->put_back(bytes_of_copy(bytes));
  }

 private:
  state_budget* state_;
  block_cache blocks_;
};

}  // namespace weft::core
