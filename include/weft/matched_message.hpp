// SPDX-License-Identifier: BSD-3-Clause
// A message that `device::probe` has found and taken: no other receive can match it. And a description of one that
// `device::peek` has found.
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
template <class Buffer>
class payload;
}  // namespace core

/// Describes a message that `device::peek` has found, as `MPI_Status` does after `MPI_Iprobe`.
struct message_envelope {
  std::uint32_t source = 0;  ///< the rank that sent it
  std::uint64_t tag = 0;     ///< its tag
  std::uint64_t bytes = 0;   ///< its size in bytes
};

/// Options of `matched_message::receive`.
struct receive_options {
  void* context = nullptr;  ///< found again in the completion record
};

/// Knows rank, tag and size of a message before there is a buffer for it, as `MPI_Message` does. If it is destroyed
/// without a receive, the message is dropped and counted. The sender of a long message gets a FIN then, as its buffer
/// is free; if this rank has no free operation for that, progress sends it later. Destroy it before its device.
///
/// All functions: **Blocking**: never. **Threads**: one at a time, as for posting on the device that probed; also
/// inside handlers. **Errors**: none, unless a function says otherwise.
class [[nodiscard]] matched_message {
 public:
  /// Takes the message over; `other` is empty afterwards.
  matched_message(matched_message&& other) noexcept
      : device_{other.device_}, message_{std::exchange(other.message_, nullptr)} {}
  /// Exchanges the messages of both.
  matched_message& operator=(matched_message&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(message_, other.message_);
    return *this;
  }
  matched_message(const matched_message&) = delete;
  matched_message& operator=(const matched_message&) = delete;
  ~matched_message();

  /// The rank that sent it. If this object is empty (received or moved from), this and the next two functions end the
  /// process with a message.
  [[nodiscard]] std::uint32_t source() const noexcept;
  /// Its tag.
  [[nodiscard]] std::uint64_t tag() const noexcept;
  /// Its size in bytes.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

  /// Receives it, as `device::post_recv` would have.
  ///
  /// **Buffer**: the library's until `local` is signalled. **Returns**: *posted*, and this object is empty afterwards;
  /// or *retry*, and it keeps the message. **Errors**: `invalid_state` if this object is empty; `invalid_argument` for
  /// a null buffer with a size and for a `local` of another runtime. After an error it keeps the message.
  status receive(buffer_ref buffer, completion& local, const receive_options& options = {});
  /// Receives it into a list of buffers, filled one after the other. **Buffer**: the list and its buffers, as for one
  /// buffer. **Errors**: also `invalid_argument` for a list that is too long, or whose sizes add up to too much.
  status receive(buffer_list buffer, completion& local, const receive_options& options = {});
  template <class WriteBufferCompletionAndMembersInOrderOf = receive_options>
  status receive(...) = delete;  // arguments that do not fit

 private:
  friend class device;
  matched_message(core::device_state* dev, core::unexpected_message* found) noexcept : device_{dev}, message_{found} {}
  status receive_into(const core::payload<buffer_ref>& into, completion& local, const receive_options& options);

  core::device_state* device_;
  core::unexpected_message* message_;
};

}  // namespace weft
