// What a wrong call or a failed set-up throws, and the codes that a failed operation carries.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace weft {

/// Why something failed. The text of an `error` has the details: what, where, which rank, what to do about it.
enum class errc : std::uint8_t {
  none = 0,
  invalid_argument,    ///< a call that can't be right: an unknown rank, a size or an id out of range
  invalid_state,       ///< a call at the wrong time: an object still in use, a runtime that is gone
  configuration,       ///< an environment variable or option that is unknown or ill-formed
  boot_failed,         ///< the launcher did not deliver the ranks it promised
  transport_failed,    ///< no way to a rank, or the way that there was broke
  out_of_memory,       ///< the system refused memory
  backlog_full,        ///< an operation that may not answer `retry` found the backlog at its bound
  peer_failed,         ///< the rank at the other end is gone
  unknown_completion,  ///< the target has withdrawn the completion that the message names
  truncated,           ///< the message was longer than the receive buffer, which was not written
  cancelled,           ///< the operation was cancelled before anything matched it
  region_refused,      ///< the target has withdrawn the region, or it does not reach that far
};

/// The name of a code, as in `invalid_argument`. **Blocking**: never. **Threads**: any.
[[nodiscard]] const char* name_of(errc code) noexcept;

/// Thrown by a call that is wrong in itself or can't set up what it promises; operations under way are not touched.
class error : public std::runtime_error {
 public:
  /// For people: `what`; for programs: `code`.
  error(errc code, const std::string& what);

  /// What kind of error it is.
  [[nodiscard]] errc code() const noexcept { return code_; }

 private:
  errc code_;
};

}  // namespace weft
