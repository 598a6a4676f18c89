// SPDX-License-Identifier: BSD-3-Clause
// A rank that leaves as soon as its own work is done, while an answer to its peer waits for a call of progress.
#pragma once

#include <optional>
#include <vector>

#include "process/am_load.hpp"

namespace weft::test {

inline int leave_early() {
  return run_rank([](runtime& rt) {
    device& dev = rt.default_device();
    if (rt.rank() == 1) {
      counter sent{rt};
      const std::vector<std::byte> payload(100'000);
      const status answer = test::post(dev, [&] { return dev.post_send(0, payload, sent, {.tag = 3}); });
      require(answer.is_posted(), "a long message was not posted");
      require(eventually(dev, [&] { return sent.value() == 1; }), "the rank that left has not answered");
    } else {
      std::optional<matched_message> found;
      require(eventually(dev, [&] { return (found = dev.probe(1, {.tag = 3})).has_value(); }), "there is no message");
      found.reset();  // it is not wanted: from here on this rank makes no progress
    }
  });
}

}  // namespace weft::test
