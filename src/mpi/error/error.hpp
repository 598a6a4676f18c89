// SPDX-License-Identifier: BSD-3-Clause
// How functions fail: an error class, with a reason for people. `raise` (rank/raise.hpp) calls the error handler.
#pragma once

#include <array>

#include "mpi.h"
#include "weft/error.hpp"

namespace weft::mpi {

struct error_owner;

/// Notes the reason for which the calling thread's function fails. Returns `error_class`.
[[gnu::cold, gnu::format(printf, 2, 3)]] int fail(int error_class, const char* format, ...) noexcept;
/// Notes also the object whose handler is called, where it is not an argument of the function but a request's. A
/// function that returns MPI_ERR_IN_STATUS calls its error handler with this class.
[[gnu::cold]] int fail_in(error_owner& owner, int error_class) noexcept;
[[gnu::cold]] int fail_unsupported() noexcept;
/// The failure of a call before MPI_Init or after MPI_Finalize.
[[gnu::cold]] int fail_outside() noexcept;
/// The failure of a call that may wait, inside a function of the program that progress calls.
[[gnu::cold]] int fail_in_callback() noexcept;
[[gnu::cold]] int fail_by(const weft::error& thrown) noexcept;
/// Notes the text of the exception that is handled now.
[[gnu::cold]] int fail_by_exception() noexcept;

/// The failure that the calling thread has noted last, without a wait between.
struct failure_note {
  std::array<char, 600> text{};
  error_owner* owner = nullptr;
  int request_error = MPI_SUCCESS;  // the class of a request's error
};
/// Takes the note: the next one is empty.
[[nodiscard, gnu::cold]] failure_note take_failure() noexcept;

/// Runs `body`, which returns an error class, and turns exceptions into one.
template <class Body>
[[nodiscard]] [[gnu::always_inline]] inline int guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    return fail_by_exception();
  }
}

}  // namespace weft::mpi
