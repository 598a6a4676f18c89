// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/program_call.hpp"

#include <exception>
#include <new>
#include <utility>
#include <vector>

namespace weft::mpi {
namespace {

// An exception for each open function of the thread, the innermost one last.
thread_local std::vector<std::exception_ptr> kept;

}  // namespace

int keep_exception() noexcept {
  kept.push_back(std::current_exception());
  return program_has_thrown;
}

void throw_kept_exception() {
  if (kept.empty()) return;
  const std::exception_ptr last = std::move(kept.back());
  kept.pop_back();
  if (last != nullptr) std::rethrow_exception(last);  // null: an exception of another language
}

void drop_exception(int code) noexcept {
  if (code == program_has_thrown && !kept.empty()) kept.pop_back();
}

}  // namespace weft::mpi
