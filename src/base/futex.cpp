// SPDX-License-Identifier: BSD-3-Clause
#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>

namespace weft::base {
namespace {

timespec time_of(clock::time_point until) noexcept {
  const auto since = std::chrono::nanoseconds{clock::end_of_sleep(until).time_since_epoch()}.count();
  return {.tv_sec = since / 1'000'000'000, .tv_nsec = since % 1'000'000'000};
}

enum class sleep_end : std::uint8_t { woken, at_limit, refused };

sleep_end end_of(long answer) noexcept {
  if (answer >= 0 || errno == EAGAIN || errno == EINTR) return sleep_end::woken;
  return errno == ETIMEDOUT ? sleep_end::at_limit : sleep_end::refused;
}

// `refused`: the kernel won't wait for two words.
sleep_end sleep_on_both(const awaited_word& first, const awaited_word& second, const timespec& until) noexcept {
#if defined(__NR_futex_waitv) && defined(FUTEX_32)
  std::array<futex_waitv, 2> words{};
  const std::array both{first, second};
  for (std::size_t i = 0; i < both.size(); ++i) {
    words[i].val = both[i].expected;
    words[i].uaddr = reinterpret_cast<std::uintptr_t>(both[i].word);
    words[i].flags = FUTEX_32;  // not private: those who wake may be other processes
  }
  return end_of(::syscall(__NR_futex_waitv, words.data(), words.size(), 0, &until, CLOCK_MONOTONIC));
#else
  return sleep_end::refused;
#endif
}

}  // namespace

bool sleep_while(const awaited_word& first, const awaited_word& second, clock::time_point until) noexcept {
  const timespec limit = time_of(until);
  if (second.word == nullptr) {
    return end_of(::syscall(__NR_futex, first.word, FUTEX_WAIT_BITSET, first.expected, &limit, nullptr,
                            FUTEX_BITSET_MATCH_ANY)) == sleep_end::at_limit;
  }
  const sleep_end both = sleep_on_both(first, second, limit);
  if (both == sleep_end::refused) {
    const timespec nap{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&nap, nullptr);
  }
  return both == sleep_end::at_limit;
}

unsigned wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  const long count = ::syscall(__NR_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return count < 0 ? 0 : static_cast<unsigned>(count);
}

}  // namespace weft::base
