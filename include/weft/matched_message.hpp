// A message that a probe has found: it belongs to whoever probed.
#pragma once

#include <cstdint>
#include <utility>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/status.hpp"

namespace weft {

namespace core {
class device_state;
struct unexpected_message;
}  // namespace core

/// Options of `matched_message::receive`.
struct receive_options {
  void* context = nullptr;  ///< found again in the completion record
};

/// Knows who sent how much under which tag, before there is a buffer for it. Dropped unreceived, the message is gone,
/// and counted; the sender of a long one is told that its buffer is free. It has to go before its device does.
///
/// **Threads**: one at a time, as for posting on the device that probed; it may be dropped inside handlers.
/// **Blocking**: never. The sender of a long message that is dropped is told by an operation; where none is free, by
/// progress, once one is.
class [[nodiscard]] matched_message {
 public:
  /// `other` is empty then.
  matched_message(matched_message&& other) noexcept
      : device_{other.device_}, message_{std::exchange(other.message_, nullptr)} {}
  /// `other` has what this one had.
  matched_message& operator=(matched_message&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(message_, other.message_);
    return *this;
  }
  matched_message(const matched_message&) = delete;
  matched_message& operator=(const matched_message&) = delete;
  ~matched_message();

  /// The rank that it came from. For this and the next two: once it has been received or moved from, they end the
  /// process with a message.
  [[nodiscard]] std::uint32_t source() const noexcept;
  /// Its tag.
  [[nodiscard]] std::uint64_t tag() const noexcept;
  /// Its size, wherever the bytes are.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// Receives it, as `device::post_recv` would have.
  ///
  /// **Blocking**: never. **Threads**: as for posting on the device that probed. **Buffer**: the library's until
  /// `local` is signalled. **Returns**: *posted*, and this object is empty then; or *retry*: still the caller's.
  /// **Errors**: `invalid_state` when it was received before; `invalid_argument` for a null buffer with a size and for
  /// a `local` of another runtime; the message is still the caller's then.
  status receive(buffer_ref buffer, completion& local, const receive_options& options = {});

 private:
  friend class device;
  matched_message(core::device_state* through, core::unexpected_message* found) noexcept
      : device_{through}, message_{found} {}

  core::device_state* device_;
  core::unexpected_message* message_;
};

}  // namespace weft
