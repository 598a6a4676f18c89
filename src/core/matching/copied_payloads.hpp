// Payloads of messages without a receive that were copied out of their packets, since too many packets of their sender
// wait here. The sender has been asked to keep its bytes; these were under way. Without the copies, all packets and all
// receive buffers could hold messages that wait, while the one that is received next cannot arrive.
//
// Cost: an allocation for each such message. Their bytes count within those of the pools (state_budget.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "core/memory/state_budget.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::core {

/// The owner of all copies. **Threads**: any.
class copied_payloads final : public detail::payload_owner {
 public:
  explicit copied_payloads(state_budget& state) noexcept : state_{&state} {}
  copied_payloads(const copied_payloads&) = delete;
  copied_payloads& operator=(const copied_payloads&) = delete;

  /// Null: there is no memory for it.
  [[nodiscard]] const std::byte* try_copy(const std::byte* payload, std::uint32_t bytes) noexcept {
    if (!state_->try_take(whole(bytes))) return nullptr;
    auto* const out = new (std::nothrow) std::byte[whole(bytes)];
    if (out == nullptr) {
      state_->put_back(whole(bytes));
    } else {
      std::memcpy(out, payload, bytes);
    }
    return out;
  }

  void release(void* data, std::size_t bytes) noexcept override {
    delete[] static_cast<std::byte*>(data);
    state_->put_back(whole(bytes));
  }

 private:
  // Whole words, as `net::arrival` requires; at least one, so that an empty message also has an address.
  [[nodiscard]] static std::size_t whole(std::size_t bytes) noexcept { return (bytes / 8 + 1) * 8; }

  state_budget* state_;
};

}  // namespace weft::core
