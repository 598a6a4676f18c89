// SPDX-License-Identifier: BSD-3-Clause
// Replies: active messages from handlers, which can't wait and must not hear *retry* after they have acted. A reply
// that can't be sent now is copied and kept, and progress on its device sends it.
//
// Cost of a reply that is sent immediately: a post. Cost of one that is kept: an allocation, and an entry of the
// device's retry list.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/device/retry_list.hpp"
#include "core/operation/running_callback.hpp"

namespace weft::core {

/// A reply to send; all arguments have been checked.
struct reply_request {
  std::uint32_t peer;
  std::uint32_t id;
  std::uint64_t tag;
  std::uint32_t device;
  source_payload bytes;
  completion* local;  // null: none is signalled
  void* context;
};

/// A reply that waits, in one piece of memory with its bytes.
class kept_reply final : public retry_entry {
 public:
  kept_reply(const kept_reply&) = delete;
  kept_reply& operator=(const kept_reply&) = delete;

  /// Makes one with room for so many bytes; null: there is no memory.
  [[nodiscard]] static kept_reply* make(std::size_t room) noexcept;
  static void destroy(kept_reply* gone) noexcept;

  [[nodiscard]] std::size_t room() const noexcept { return room_; }
  /// The device for which it is reserved, while it is empty.
  [[nodiscard]] device_state* reserved_for() const noexcept { return device_; }
  void reserve(device_state& dev) noexcept { device_ = &dev; }

  /// Copies the bytes of a message, for which `room()` is enough. False: their kind of memory has failed.
  [[nodiscard]] bool copy(const source_payload& bytes) noexcept {
    return bytes.copy_to(memory(), static_cast<std::size_t>(bytes.bytes()));
  }
  /// Takes over the reply whose bytes it has copied, and leaves it to calls of progress on `dev`.
  void keep(device_state& dev, const reply_request& message) noexcept;
  /// The reply has been sent, and the signal alone is left.
  void keep_signal(device_state& dev, const reply_request& message) noexcept;
  /// Its message has been sent, and a long one fetched; or that has failed. Called by a thread that makes progress on
  /// `dev`.
  bool end(device_state& dev, errc error) noexcept;

  bool try_again() noexcept override;
  void adopted_by(device_state& other) noexcept override;
  [[nodiscard]] bool is_answer() const noexcept override { return !is_over_ && !is_long_; }
  void drop() noexcept override { destroy(this); }

 private:
  explicit kept_reply(std::size_t room) noexcept : room_{room} {}
  ~kept_reply() = default;

  [[nodiscard]] std::byte* memory() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  bool give_signal() noexcept;

  std::size_t room_;
  device_state* device_ = nullptr;
  reply_request message_{};
  errc error_ = errc::none;
  bool is_long_ = false;
  bool is_over_ = false;         // the signal alone is left
  std::uint8_t awaited_in_ = 0;  // the place where flushes count it
};

namespace reply {

/// **Errors**: backlog_full beyond the bound and out_of_memory, both only where nothing is reserved.
void reply(device_state& dev, const reply_request& message);
/// Implements `device::can_reply`.
[[nodiscard]] bool can_reply(device_state& dev, std::size_t bytes) noexcept;

}  // namespace reply

}  // namespace weft::core
