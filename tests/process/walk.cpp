// SPDX-License-Identifier: BSD-3-Clause
// Walks a message of the page on the architecture, once it is warm, and writes what callgrind has counted meanwhile:
// `walk message`, `walk send` or `walk fiber`.
// by script
// not under sanitizers
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_ZERO_STATS static_cast<void>(0)
#define CALLGRIND_DUMP_STATS static_cast<void>(0)
#endif

namespace {

constexpr int warm_up = 3, walks = 20;

void require(bool fulfilled, const char* description) {
  if (fulfilled) return;
  std::fprintf(stderr, "walk: %s\n", description);
  std::_Exit(1);
}

// One rank drives the devices of both, while the other one waits on its default device.
struct driven {
  weft::device& dev;
  weft::completion_queue& inbox;
};
std::array<driven*, 2> sides;

void counted(void (*once)()) {
  for (int i = 0; i < warm_up; ++i) once();
  CALLGRIND_ZERO_STATS;
  for (int i = 0; i < walks; ++i) once();
  CALLGRIND_DUMP_STATS;
}

weft::completion_record arrival() {
  for (;;) {
    for (driven* const each : sides) each->dev.progress();
    if (auto record = sides[1]->inbox.pop()) return std::move(*record);
  }
}

void walk_message() {
  const std::uint64_t word = 7;
  const auto answer = sides[0]->dev.post_am(1, {.id = 1}, std::span{&word, 1}, sides[0]->inbox, {.tag = 3});
  require(answer.is_done(), "a post was not done");
  require(arrival().bytes() == sizeof word, "another message came");
}

void walk_send() {
  static std::vector<std::byte> from(1 << 20), to(1 << 20);
  require(sides[1]->dev.post_recv(0, to, sides[1]->inbox, {.tag = 3}).is_posted(), "no receive was posted");
  require(sides[0]->dev.post_send(1, from, sides[0]->inbox, {.tag = 3}).is_posted(), "no send was posted");
  require(arrival().error() == weft::errc::none, "a receive failed");
  while (!sides[0]->inbox.pop()) sides[0]->dev.progress();
}

void drive(void (*once)()) {
  weft::test::local_job{2}.run([once](weft::runtime& rt) {
    weft::completion_queue inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    weft::device dev{rt, {.shared = false}};
    driven mine{dev, inbox};
    sides[rt.rank()] = &mine;
    rt.barrier();
    if (rt.rank() == 0) counted(once);
    rt.barrier();
  });
}

// A fiber of rank 0 receives what rank 1 sends once the receive is posted; so the fiber is suspended meanwhile.
void walk_fiber() {
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    static weft::runtime* receiver;
    static std::atomic<int> round;
    if (rt.rank() == 0) receiver = &rt;
    rt.barrier();
    weft::device& dev = rt.default_device();
    std::uint64_t word = 7;
    if (rt.rank() == 0) {
      weft::blocking_device io{dev};
      std::array<weft::device*, 1> served{&dev};
      weft::fiber_scheduler fibers{{.devices = served}};
      fibers
          .spawn([&] {
            for (int i = 0; i < warm_up + walks; ++i) {
              if (i == warm_up) CALLGRIND_ZERO_STATS;
              round = i;
              static_cast<void>(io.recv(1, std::span{&word, 1}, {.tag = 3}));
            }
            CALLGRIND_DUMP_STATS;
          })
          .join();
    } else {
      weft::counter sent{rt};
      for (int i = 0; i < warm_up + walks; ++i) {
        while (round != i || receiver->counters().receives_waiting == 0) dev.progress();
        dev.until_accepted([&] { return dev.post_send(0, std::span{&word, 1}, sent, {.tag = 3}); });
      }
      dev.wait_all(sent);
    }
    rt.barrier();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view which = argc > 1 ? argv[1] : "";
  if (which == "message") {
    drive(walk_message);
  } else if (which == "send") {
    drive(walk_send);
  } else if (which == "fiber") {
    walk_fiber();
  } else {
    require(false, "say which: message, send or fiber");
  }
}
