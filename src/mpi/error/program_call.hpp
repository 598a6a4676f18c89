// SPDX-License-Identifier: BSD-3-Clause
// Calls of functions of the program whose exceptions pass out of the function of MPI that has called them.
#pragma once

namespace weft::mpi {

/// The code of a function of the program that has thrown. The library's own functions are `noexcept`: they treat it as
/// each other code of such a function, and the entry point throws the exception again (`raise`).
inline constexpr int program_has_thrown = -0x7f00'0001;

/// Keeps the exception that is handled now for the entry point of the calling thread. **Returns** `program_has_thrown`.
[[gnu::cold]] int keep_exception() noexcept;
/// Throws the exception that was kept last. Nothing, if there is none: the program's function itself has returned the
/// code.
[[gnu::cold]] void throw_kept_exception();
/// Drops the exception of a code that no entry point returns, if it has one.
[[gnu::cold]] void drop_exception(int code) noexcept;

/// Calls `function`, which calls a function of the program and returns its code.
template <class Function>
[[nodiscard]] int call_program(const Function& function) noexcept {
  try {
    return function();
  } catch (...) {
    return keep_exception();
  }
}

}  // namespace weft::mpi
