// SPDX-License-Identifier: BSD-3-Clause
// Counts how often threads yield their cores: a test that links this has a `sched_yield` of its own before the
// system's.
#pragma once

#include <cstdint>
#include <functional>

namespace weft::test {

/// Of the calling thread, so far.
[[nodiscard]] std::uint64_t yields_of_this_thread() noexcept;

/// While one lives, each yield of the calling thread calls `function` as well.
class at_each_yield {
 public:
  explicit at_each_yield(std::function<void()> function);
  ~at_each_yield();
  at_each_yield(const at_each_yield&) = delete;
  at_each_yield& operator=(const at_each_yield&) = delete;

 private:
  std::function<void()> function_;
};

}  // namespace weft::test
