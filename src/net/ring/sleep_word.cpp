// SPDX-License-Identifier: BSD-3-Clause
#include "net/ring/sleep_word.hpp"

#include "base/futex.hpp"

namespace weft::net {
namespace {

std::atomic<std::uint64_t> woken{0};

}  // namespace

[[gnu::cold]] void wake_at(sleep_word& doorbell) noexcept {
  doorbell.end_sleep();
  woken.fetch_add(base::wake_all(doorbell.value), std::memory_order_relaxed);  // [stat]
}

[[gnu::cold]] void wake_sleepers(sleep_word& word) noexcept { word.wake_named(&wake_at); }

std::uint64_t wake_up_count() noexcept { return woken.load(std::memory_order_relaxed); }  // [stat]

}  // namespace weft::net
