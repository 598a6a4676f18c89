// SPDX-License-Identifier: BSD-3-Clause
#include "support/counted_yields.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace weft::test {
namespace {

// No object that is made at its first use: the sanitizer of leaks yields at a process's end, where it holds a lock of
// the loader that making one would wait for.
constinit thread_local std::uint64_t yields = 0;
constinit thread_local const std::function<void()>* called_too = nullptr;

}  // namespace

std::uint64_t yields_of_this_thread() noexcept { return yields; }

at_each_yield::at_each_yield(std::function<void()> function) : function_(std::move(function)) {
  called_too = &function_;
}
at_each_yield::~at_each_yield() { called_too = nullptr; }

}  // namespace weft::test

extern "C" int sched_yield() noexcept {
  ++weft::test::yields;
  if (weft::test::called_too != nullptr) (*weft::test::called_too)();
  return static_cast<int>(::syscall(SYS_sched_yield));
}
