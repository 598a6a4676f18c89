// SPDX-License-Identifier: BSD-3-Clause
// Every operation from and to every kind of memory, between two processes.
#pragma once

#include "process/am_load.hpp"
#include "support/kinds_load.hpp"

namespace weft::test {

inline int run_kinds_of_memory(kinds_load load) {
  runtime rt;
  if (rt.size() < 2) require(false, "too few ranks");
  load.seed = rt.rank() == 0 ? random_seed() % 1000 : 0;
  completion_queue inbox{rt};
  counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 9});
  if (rt.rank() == 0) {
    static_cast<void>(post_until_taken(rt.default_device(), 1, {9}, std::span{&load.seed, 1}, sent));
  } else {
    std::optional<completion_record> told;
    require(eventually(rt.default_device(), [&] { return (told = inbox.pop()).has_value(); }), "no seed");
    std::memcpy(&load.seed, told->data().data(), sizeof load.seed);
  }
  if (under_sanitizer) load.one_in *= 6;
  run_kinds(rt, load, [](const std::string& problem) { require(false, problem); });
  return 0;
}

}  // namespace weft::test
