#include "support/counted_yields.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

namespace weft::test {
namespace {

thread_local std::uint64_t yields = 0;
thread_local std::function<void()> called_too;

}  // namespace

std::uint64_t yields_of_this_thread() noexcept { return yields; }

at_each_yield::at_each_yield(std::function<void()> function) { called_too = std::move(function); }
at_each_yield::~at_each_yield() { called_too = nullptr; }

}  // namespace weft::test

extern "C" int sched_yield() noexcept {
  ++weft::test::yields;
  if (weft::test::called_too) weft::test::called_too();
  return static_cast<int>(::syscall(SYS_sched_yield));
}
