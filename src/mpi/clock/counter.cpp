// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/clock/counter.hpp"

#include <sys/prctl.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <memory>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace weft::mpi {
namespace {

// The first line of a file; empty where it can't be read.
std::string_view read_line(const char* path, std::array<char, 64>& text) noexcept {
  const int kept_errno = errno;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path, "re"), std::fclose};
  const bool is_read = file != nullptr && std::fgets(text.data(), static_cast<int>(text.size()), file.get()) != nullptr;
  errno = kept_errno;
  const std::string_view line{is_read ? text.data() : ""};
  return line.substr(0, line.find('\n'));
}

// Whether the counter has one rate in all states of power, and reading it is no error (PR_SET_TSC).
bool is_invariant() noexcept {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  constexpr unsigned invariant_tsc = 1U << 8;
  if (__get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) == 0 || (edx & invariant_tsc) == 0) return false;
  int mode = PR_TSC_ENABLE;
  return ::prctl(PR_GET_TSC, &mode) != 0 || mode == PR_TSC_ENABLE;
#else
  return true;
#endif
}

}  // namespace

bool is_of_processor([[maybe_unused]] std::string_view clock_source) noexcept {
#if defined(__x86_64__)
  return clock_source == "tsc";
#elif defined(__aarch64__)
  return clock_source == "arch_sys_counter";
#else
  return false;
#endif
}

std::int64_t processor_counter::nanoseconds() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
}

bool processor_counter::is_trusted() noexcept {
  std::array<char, 64> text{};
  return is_invariant() &&
         is_of_processor(read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", text));
}

}  // namespace weft::mpi
