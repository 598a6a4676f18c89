// SPDX-License-Identifier: BSD-3-Clause
// The exception of wrong calls and failed set-ups, and the error codes in records of failed operations.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft {

/// Why something failed. The text of an `error` has the details: the call, the rank, the cause, and what to do about
/// it.
enum class errc : std::uint8_t {
  none = 0,
  invalid_argument,    ///< a wrong call: an unknown rank, a size or an id out of range
  invalid_state,       ///< a call at the wrong time: an object still in use, a runtime that is gone
  configuration,       ///< an environment variable or option that is unknown or ill-formed
  boot_failed,         ///< the launcher did not deliver the ranks it promised
  transport_failed,    ///< no transport reaches the rank, or its connection broke
  out_of_memory,       ///< the system refused memory
  backlog_full,        ///< an operation that may not answer `retry` found the backlog at its bound
  peer_failed,         ///< the peer's process has ended, or has destroyed its runtime
  unknown_completion,  ///< the target has withdrawn the id that the message names
  truncated,           ///< the message was longer than the receive buffer, which was not written
  cancelled,           ///< the operation was cancelled before anything matched it
  region_refused,      ///< the target has withdrawn the region, or the range reaches beyond it
  user_exception,      ///< a function of the user's threw an exception that is no `error`, in a node of a graph
  memory_failed,       ///< a function of a kind of memory or a layout failed, at either end of the message
};

/// The name of a code, as in `invalid_argument`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] const char* name_of(errc code) noexcept;

/// Thrown by a wrong call, and by a call that cannot do what it promises. Pending operations are not affected.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none, but the constructor's `std::bad_alloc`.
class error : public std::runtime_error {
 public:
  /// `description` is for people, `code` for programs.
  error(errc code, const std::string& description);

  /// The kind of the error.
  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

}  // namespace weft
