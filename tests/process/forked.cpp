// SPDX-License-Identifier: BSD-3-Clause
// Each rank makes children that have copies of all it holds and destroy them as they end, the last one by a return from
// `main`, while threads of the rank use everything. The ranks go on as before.
// subject: src/core/runtime src/fiber
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <thread>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace {

void require(bool fulfilled, const char* description) {
  if (fulfilled) return;
  std::fprintf(stderr, "not so: %s\n", description);
  std::_Exit(1);
}

// All that a rank has, in the order in which it goes.
struct holdings {
  weft::runtime rt;
  weft::device second{rt};
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  weft::registration arrivals{rt.register_completion(inbox, {.id = 1})};
  weft::memory_region region{rt, std::size_t{1} << 16};
  weft::progress_thread helper{second};
  weft::wait_descriptor ready{rt.default_device()};
  weft::device visitor{rt, {.policy = weft::progress_policy::all}};
  weft::matching_engine ordered{rt, {.ordered = true}};
  weft::counter received{rt};
  weft::graph steps{visitor};
  weft::run_loop loop{visitor};
  weft::fiber_event go;
  weft::fiber_scheduler fibers;
  weft::fiber waits{fibers.spawn([this] { go.wait(); })};
  std::array<std::uint64_t, 3> into{};
  std::array<std::uint64_t, 2> tickets{};
  std::optional<weft::completion_record> record;
};

weft::task<> receive_by(weft::run_loop& loop, std::span<std::uint64_t> into, std::stop_token stop) {
  static_cast<void>(co_await loop.post_recv(0, into, {.tag = 3}, std::move(stop)));
}

// Operations that are under way at each fork.
void begin(holdings& mine, const std::stop_token& stop) {
  const auto receive = [&mine](std::size_t at, weft::completion& local, const weft::post_recv_options& options) {
    const weft::status answer = mine.visitor.post_recv(0, std::span{&mine.into[at], 1}, local, options);
    require(answer.is_posted(), "a receive is posted");
    mine.tickets[at] = answer.ticket();
    return answer;
  };
  static_cast<void>(receive(0, mine.received, {.tag = 1, .engine = mine.ordered.id()}));
  mine.steps.add_post([=](weft::completion& local) { return receive(1, local, {.tag = 2}); });
  mine.steps.start(mine.received);
  mine.loop.spawn(receive_by(mine.loop, std::span{&mine.into[2], 1}, stop));
  mine.loop.run_ready();
}

void end(holdings& mine, std::stop_source& stop) {
  for (const std::uint64_t ticket : mine.tickets) {
    require(weft::test::eventually([&] { return mine.visitor.cancel(ticket) != weft::cancel_result::busy; }),
            "a receive is cancelled");
  }
  stop.request_stop();
  require(mine.loop.run({.timeout = weft::test::patience}), "the coroutine ends");
  require(weft::test::eventually(mine.visitor, [&] { return mine.received.outstanding() == 0; }), "all receives end");
  mine.go.set();
  mine.waits.join();
}

void exchange(holdings& mine, const std::vector<std::byte>& bytes) {
  const std::uint32_t next = (mine.rt.rank() + 1) % mine.rt.size();
  weft::device& dev = mine.rt.default_device();
  static_cast<void>(weft::test::post_until_taken(dev, next, {.id = 1}, bytes, mine.sent));
  const bool came = weft::test::eventually(dev, [&] {
    mine.record = mine.inbox.pop();
    return mine.record.has_value();
  });
  require(came && std::ranges::equal(mine.record->data(), bytes), "a message comes, and is what was sent");
}

}  // namespace

int main() {
  auto mine = std::make_unique<holdings>();
  std::ranges::fill(mine->region.memory(), std::byte{7});
  const std::vector<std::byte> bytes(1000, std::byte{9});
  exchange(*mine, bytes);
  std::stop_source stop;
  begin(*mine, stop.get_token());
  std::atomic<bool> is_over{false};
  std::thread polls{[&is_over, &visitor = mine->visitor] {
    while (!is_over) visitor.progress();
  }};
  constexpr int rounds = 5;
  for (int round = 0; round < rounds; ++round) {
    static_cast<void>(mine->ready.arm());  // so that its thread sleeps
    const pid_t child = ::fork();
    if (child == 0) {
      polls.detach();
      mine.reset();
      // A leak sanitizer takes memory of threads that a child doesn't have for leaks.
      if (round == rounds - 1 && !weft::test::under_sanitizer) return 0;
      ::_exit(0);
    }
    int status = 0;
    const bool has_ended = weft::test::eventually([&] { return ::waitpid(child, &status, WNOHANG) == child; });
    if (!has_ended) ::kill(child, SIGKILL);
    require(has_ended && status == 0, "the child ends well");
    mine->rt.barrier();
    require(std::ranges::equal(mine->record->data(), bytes), "the message that is held is as it was");
    require(std::ranges::all_of(mine->region.memory(), [](std::byte each) { return each == std::byte{7}; }),
            "the region is as it was");
    exchange(*mine, bytes);
  }
  is_over = true;
  polls.join();
  end(*mine, stop);
  mine->rt.barrier();
}
