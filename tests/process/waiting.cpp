// SPDX-License-Identifier: BSD-3-Clause
// A token goes round by threads that sleep until it comes: on the default device, on devices of their own, and several
// threads of each rank on one device. A missed wake-up costs 100 ms each time, so that this would not end in time.
// ranks: 2 3
// subject: src/core/wait src/net/ring
#include "process/am_load.hpp"

namespace {

using weft::test::require;

constexpr std::uint64_t rounds = weft::base::under_sanitizer ? 200 : 1000;

void pass_round(weft::runtime& rt, weft::device& dev, std::uint32_t id) {
  weft::completion_queue inbox{rt}, sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = id});
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  const auto pass_on = [&](std::uint64_t round) {
    const weft::status answer = weft::test::post(dev, [&] {
      return dev.post_am(next, {id}, weft::const_buffer_ref{}, sent, {.tag = round, .device = dev.index()});
    });
    require(answer.is_done(), "an empty message was posted");
  };
  if (rt.rank() == 0) pass_on(0);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const auto got = dev.wait(inbox, {.timeout = std::chrono::minutes{1}, .spins = 0});
    require(got && got->tag() == round, "the token is lost");
    if (rt.rank() != 0) {
      pass_on(round);
    } else if (round + 1 < rounds) {
      pass_on(round + 1);
    }
  }
}

}  // namespace

int main() {
  return weft::test::run_rank([](weft::runtime& rt) {
    pass_round(rt, rt.default_device(), 1);
    {
      weft::device own{rt, {.shared = false}};
      rt.barrier();
      pass_round(rt, own, 2);
      rt.barrier();
    }
    std::vector<std::thread> all;
    for (std::uint32_t t = 0; t < 3; ++t) all.emplace_back([&, t] { pass_round(rt, rt.default_device(), 10 + t); });
    for (std::thread& each : all) each.join();
    rt.barrier();
  });
}
