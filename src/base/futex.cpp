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

// 0 where it slept or need not sleep; -1 where the kernel won't wait for two words.
long sleep_on_both(const awaited_word& first, const awaited_word& second, const timespec& until) noexcept {
#if defined(__NR_futex_waitv) && defined(FUTEX_32)
  std::array<futex_waitv, 2> words{};
  const std::array both{first, second};
  for (std::size_t i = 0; i < both.size(); ++i) {
    words[i].val = both[i].expected;
    words[i].uaddr = reinterpret_cast<std::uintptr_t>(both[i].word);
    words[i].flags = FUTEX_32;  // not private: those who wake may be other processes
  }
  const long got = ::syscall(__NR_futex_waitv, words.data(), words.size(), 0, &until, CLOCK_MONOTONIC);
  return got < 0 && errno != EAGAIN && errno != ETIMEDOUT && errno != EINTR ? -1 : 0;
#else
  return -1;
#endif
}

}  // namespace

void sleep_while(const awaited_word& first, const awaited_word& second, clock::time_point until) noexcept {
  const timespec limit = time_of(until);
  if (second.word == nullptr) {
    ::syscall(__NR_futex, first.word, FUTEX_WAIT_BITSET, first.expected, &limit, nullptr, FUTEX_BITSET_MATCH_ANY);
  } else if (sleep_on_both(first, second, limit) != 0) {
    const timespec nap{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&nap, nullptr);
  }
}

void wake_all(const std::atomic<std::uint32_t>& word) noexcept {
  ::syscall(__NR_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weft::base
