// SPDX-License-Identifier: BSD-3-Clause
// Order that arises through another process: a thread that has read the bytes put here asks for the next put, and
// another thread makes the progress that writes it. No race, and under ThreadSanitizer none may be reported.
// ranks: 2
// launchers: weft-run
// subject: src/core/progress src/core/protocol
#include <algorithm>
#include <cstring>

#include "process/am_load.hpp"
#include "support/between_threads.hpp"
#include "support/time_limit.hpp"

namespace {

using weft::test::eventually;
using weft::test::require;

constexpr int rounds = 200;
constexpr std::size_t bytes = 512;

bool is_all(std::span<const std::byte> memory, int round) {
  return std::ranges::all_of(memory, [&](std::byte b) { return b == static_cast<std::byte>(round); });
}

void put_when_asked(weft::runtime& rt) {
  weft::completion_queue asked{rt}, put{rt};
  const auto arrivals = rt.register_completion(asked, {.id = 1});
  weft::device& dev = rt.default_device();
  rt.barrier();
  for (int round = 1; round <= rounds; ++round) {
    std::optional<weft::completion_record> got;
    require(eventually(dev, [&] { return (got = asked.pop()).has_value(); }), "nobody asked");
    weft::remote_region there;
    require(got->data().size() == sizeof there, "asked in other words");
    std::memcpy(&there, got->data().data(), sizeof there);
    const std::vector<std::byte> payload(bytes, static_cast<std::byte>(round));
    const weft::status answer = weft::test::post(dev, [&] {
      return dev.post_put(1, payload, {there, 0}, put, {.signal = {2}});
    });
    require(answer.is_done() || eventually(dev, [&] { return put.pop().has_value(); }), "not put");
  }
  rt.barrier();
}

// Makes no progress of its own, and posts on a device of its own.
void ask(weft::runtime& rt, const weft::memory_region& region, weft::completion_queue& came) {
  weft::device own{rt, {.shared = false}};
  weft::completion_queue sent{rt};
  const auto handle = std::as_bytes(std::span{&region.handle(), 1});
  for (int round = 1; round <= rounds; ++round) {
    const weft::status answer = weft::test::post(own, [&] { return own.post_am(0, {1}, handle, sent); });
    require(answer.is_done(), "a small message was posted");
    std::optional<weft::completion_record> got;
    weft::test::time_limit limit;
    while (!(got = came.pop()) && !limit.is_over()) std::this_thread::yield();
    require(got && got->error() == weft::errc::none, "nothing was put");
    require(is_all(region.memory(), round), "other bytes were put");
  }
}

void be_put_to(weft::runtime& rt) {
  std::vector<std::byte> memory(bytes);
  weft::memory_region region{rt, std::span{memory}};
  weft::completion_queue came{rt};
  const auto signals = rt.register_completion(came, {.id = 2});
  rt.barrier();
  weft::test::flag is_done;
  std::thread asking{[&] {
    ask(rt, region, came);
    is_done.raise();
  }};
  const bool in_time = eventually(rt.default_device(), [&] { return is_done.is_raised(); });
  require(in_time, "not all was put");
  asking.join();
  rt.barrier();
}

}  // namespace

int main() {
  weft::test::set("WEFT_SHM_CMA", "off");  // the receiver's progress copies, not the kernel
  return weft::test::run_rank([](weft::runtime& rt) { rt.rank() == 0 ? put_when_asked(rt) : be_put_to(rt); });
}
