// SPDX-License-Identifier: BSD-3-Clause
// Lists of buffers between two processes, by every operation that takes them.
#pragma once

#include "process/am_load.hpp"
#include "support/scattered.hpp"

namespace weft::test {

inline int run_lists(int rounds) {
  runtime rt;
  std::uint64_t seed = rt.rank() == 0 ? random_seed() : 0;
  if (rt.size() < 2) require(false, "too few ranks");
  completion_queue inbox{rt};
  counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 9});
  if (rt.rank() == 0) {
    static_cast<void>(post_until_taken(rt.default_device(), 1, {9}, std::span{&seed, 1}, sent));
  } else {
    std::optional<completion_record> told;
    require(eventually(rt.default_device(), [&] { return (told = inbox.pop()).has_value(); }), "no seed");
    std::memcpy(&seed, told->data().data(), sizeof seed);
  }
  list_load::run(rt, seed, rounds, [](const std::string& problem) { require(false, problem); });
  return 0;
}

}  // namespace weft::test
