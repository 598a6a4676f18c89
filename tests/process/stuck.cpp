// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks wait for messages that never arrive, to try their reports (tests/weft-run/stuck_test.py).
//   stuck SITUATION
// Rank 0 makes the job stand still; then the ranks wait until they are ended.
// by script
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace {

using weft::match_policy;

std::span<const std::byte> bytes_of(const std::uint64_t& word) { return std::as_bytes(std::span{&word, 1}); }
std::span<std::byte> bytes_of(std::uint64_t& word) { return std::as_writable_bytes(std::span{&word, 1}); }

std::uint32_t left_of(const weft::runtime& rt) { return (rt.rank() + rt.size() - 1) % rt.size(); }

void send(weft::device& dev, std::uint32_t peer, const weft::post_send_options& options) {
  const std::uint64_t word = 1;
  weft::counter sent{dev.runtime()};
  while (dev.post_send(peer, bytes_of(word), sent, options).is_retry()) dev.progress();
}

// Waits for a receive that is never matched.
void receive(weft::device& dev, std::uint32_t peer, const weft::post_recv_options& options) {
  std::uint64_t word = 0;
  weft::counter got{dev.runtime()};
  while (dev.post_recv(peer, bytes_of(word), got, options).is_retry()) dev.progress();
  dev.wait(got, 1);
}

// More messages than the queue of rank 1 takes, which waits in a barrier. (tests set WEFT_QUEUE_CAPACITY)
void full_queue(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter sent{rt};
  weft::completion_queue inbox{rt};
  const auto registered = rt.register_completion(inbox, {.id = 1});
  rt.barrier();
  for (std::uint64_t i = 0; rt.rank() == 0 && i < 5000; ++i) {
    while (dev.post_am(1, {1}, bytes_of(i), sent).is_retry()) dev.progress();
  }
  rt.barrier();
}

// More sends than the queue takes that they signal.
void full_local_queue(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::completion_queue sent{rt};
  const std::uint64_t word = 1;
  for (std::uint64_t i = 0; rt.rank() == 0 && i < 40; ++i) {
    while (dev.post_send(1, bytes_of(word), sent, {.allow_done = false}).is_retry()) dev.progress();
  }
  receive(dev, left_of(rt), {.tag = 7});
}

// The program polls by itself.
void polls(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  std::uint64_t word = 0;
  weft::counter got{rt};
  while (dev.post_recv(left_of(rt), bytes_of(word), got, {.tag = 3}).is_retry()) dev.progress();
  while (got.value() == 0) dev.progress();
}

// A message for a second device, which no thread polls, while its receiver polls the default device.
void other_device(weft::runtime& rt) {
  const weft::device second{rt};
  weft::counter got{rt}, sent{rt};
  const auto arrivals = rt.register_completion(got, {.id = 1});
  rt.barrier();
  weft::device& dev = rt.default_device();
  if (rt.rank() == 1) dev.until_accepted([&] { return dev.post_am(0, {1}, {}, sent, {.device = 1}); });
  while (got.value() == 0) dev.progress();
}

// Messages for a rank whose thread waits for them without progress. Tells rank 0 when it may end the wait.
void forgets_progress(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter got{rt}, sent{rt};
  const auto arrivals = rt.register_completion(got, {.id = 1});
  if (rt.rank() == 0) dev.until_accepted([&] { return dev.post_am(1, {1}, {}, sent); });
  while (rt.rank() == 1 && got.value() == 0) std::this_thread::yield();
  rt.barrier();
}

// A rank waits without progress for its message to itself.
void forgets_itself(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter got{rt}, sent{rt};
  const auto arrivals = rt.register_completion(got, {.id = 1});
  dev.until_accepted([&] { return dev.post_am(rt.rank(), {1}, {}, sent); });
  while (got.value() == 0) std::this_thread::yield();
}

// Ranks exchange messages all the time, while no thread of rank 1 polls its second device, which is one thread's own.
void forgotten_device(weft::runtime& rt) {
  std::optional<weft::device> second;
  if (rt.rank() == 1) second.emplace(rt, weft::device_options{.shared = false});
  weft::counter got{rt}, sent{rt};
  const auto arrivals = rt.register_completion(got, {.id = 1});
  rt.barrier();
  weft::device& dev = rt.default_device();
  if (rt.rank() == 0) dev.until_accepted([&] { return dev.post_am(1, {1}, {}, sent, {.device = 1}); });
  for (;;) rt.barrier();
}

// No message is under way, and no thread makes progress: ranks compute.
void computes(weft::runtime& rt) {
  rt.barrier();
  weft::counter got{rt}, sent{rt};
  const weft::device second{rt, {.shared = false}};
  std::this_thread::sleep_for(std::chrono::milliseconds{1500});
  rt.barrier();
}

// Ends by itself, after a time in which the test stops it: rank 0 says when.
void exchanges(weft::runtime& rt) {
  std::fputs("begins\n", stdout);
  std::fflush(stdout);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds{2500};
  std::uint64_t is_over = 0;
  weft::group all = rt.world();
  while (is_over == 0) {
    is_over = rt.rank() == 0 && std::chrono::steady_clock::now() > end ? 1 : 0;
    weft::collective::broadcast({&is_over, sizeof is_over}, 0).run(all);
  }
}

void other_tag(weft::runtime& rt) {
  if (rt.rank() == 0) send(rt.default_device(), 1, {.tag = 5});
  receive(rt.default_device(), left_of(rt), {.tag = 6});
}

void other_policy(weft::runtime& rt) {
  if (rt.rank() == 0) send(rt.default_device(), 1, {.tag = 5, .policy = match_policy::tag_only});
  receive(rt.default_device(), left_of(rt), {.tag = 5, .policy = match_policy::rank_tag});
}

void other_engine(weft::runtime& rt) {
  const weft::matching_engine own{rt, {.id = 7}};
  rt.barrier();
  if (rt.rank() == 0) send(rt.default_device(), 1, {.tag = 5});
  receive(rt.default_device(), left_of(rt), {.tag = 5, .engine = own.id()});
}

void other_rank(weft::runtime& rt) {
  const weft::matching_engine own{rt, {.id = 7, .ordered = true}};
  rt.barrier();
  if (rt.rank() == 0) send(rt.default_device(), 1, {.tag = 5, .engine = own.id()});
  receive(rt.default_device(), 1, {.tag = 5, .engine = own.id()});
}

void receiver_first(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  const weft::matching_engine own{rt, {.id = 7, .receiver_first = true}};
  rt.barrier();
  if (rt.rank() != 0) return receive(dev, 0, {.tag = 6, .engine = own.id()});
  const std::uint64_t word = 1;
  weft::counter sent{rt};
  while (dev.post_send(1, bytes_of(word), sent, {.tag = 5, .engine = own.id()}).is_retry()) dev.progress();
  dev.wait(sent, 1);
}

void no_registration(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  const std::uint64_t word = 1;
  weft::counter sent{rt};
  while (rt.rank() == 0 && dev.post_am(1, {9}, bytes_of(word), sent).is_retry()) dev.progress();
  receive(dev, left_of(rt), {.tag = 1});
}

// Of the collectives of all ranks the last rank calls one less. It has made a group, or none.
void collective_missing(weft::runtime& rt) {
  weft::group all = rt.world();
  std::uint64_t sum = 0;
  const std::uint64_t mine = 1;
  weft::collective::allreduce(std::span{&mine, 1}, std::span{&sum, 1}).run(all);
  if (rt.rank() != rt.size() - 1) weft::collective::barrier().run(all);
  rt.barrier();
}
void first_collective_missing(weft::runtime& rt) {
  if (rt.rank() != rt.size() - 1) {
    weft::group all = rt.world();
    weft::collective::barrier().run(all);
  }
  rt.barrier();
}
// The same of a group of ranks 1 and up, by a post.
void posted_collective_missing(weft::runtime& rt) {
  weft::group some = rt.world().split(rt.rank() == 0 ? 0U : 1U, rt.rank());
  weft::counter ended{rt};
  std::uint64_t word = 0;
  if (rt.rank() > 1) static_cast<void>(weft::collective::broadcast({&word, sizeof word}).post(some, ended));
  if (rt.rank() > 1) rt.default_device().wait(ended, 1);
  rt.barrier();
}

// Ranks call different collectives, all of which wait.
void other_collective(weft::runtime& rt) {
  weft::group all = rt.world();
  std::uint64_t word = 0;
  std::vector<std::uint64_t> in(rt.size()), out(rt.size());
  if (rt.rank() == 0) weft::collective::broadcast(std::span{&word, 1}, 1).run(all);
  if (rt.rank() != 0) weft::collective::alltoall(in, out).run(all);
  rt.barrier();
}

// A post that is answered retry, and not repeated.
void ignored_retry(weft::runtime& rt) {
  weft::device& dev = rt.default_device();
  weft::counter got{rt}, sent{rt};
  const auto arrivals = rt.register_completion(got, {.id = 1});
  rt.barrier();
  constexpr std::uint64_t retries_wanted = 1000;  // a receiver may keep up with its sender for long
  for (std::uint64_t retries = 0; rt.rank() == 0 && retries < retries_wanted;)
    retries += dev.post_am(1, {1}, {}, sent).is_retry() ? 1 : 0;
  if (rt.rank() == 1) dev.wait(got, std::numeric_limits<std::uint64_t>::max());
  rt.barrier();
}

// Rank 0 sends to an engine that rank 1 has made without order.
void engine_without_order(weft::runtime& rt) {
  const weft::matching_engine own{rt, {.id = 7, .ordered = rt.rank() == 0}};
  rt.barrier();
  weft::device& dev = rt.default_device();
  weft::counter sent{rt};
  for (std::uint64_t i = 0; rt.rank() == 0 && i < 100'000; ++i)
    dev.until_accepted([&] { return dev.post_send(1, bytes_of(i), sent, {.tag = 5, .engine = own}); });
  if (rt.rank() == 1) receive(dev, 0, {.tag = 9});
}

void ended_peer(weft::runtime& rt) {
  if (rt.rank() == 1) receive(rt.default_device(), 0, {.tag = 4, .policy = match_policy::tag_only});
}

void blocking(weft::runtime& rt) {
  weft::blocking_device io{rt.default_device()};
  std::uint64_t word = 0;
  static_cast<void>(io.recv(left_of(rt), bytes_of(word), {.tag = 5}));
}

// A fiber that waits for a message.
void run_fibers(weft::runtime& rt, std::span<weft::device* const> devices) {
  weft::blocking_device io{rt.default_device()};
  weft::fiber_scheduler fibers{{.workers = 1, .devices = devices}};
  weft::fiber one = fibers.spawn([&] {
    std::uint64_t word = 0;
    static_cast<void>(io.recv(left_of(rt), bytes_of(word), {.tag = 5}));
  });
  one.join();
}
void fibers(weft::runtime& rt) {
  weft::device* const devices[] = {&rt.default_device()};
  run_fibers(rt, devices);
}
void fibers_without_devices(weft::runtime& rt) { run_fibers(rt, {}); }

// A receive is posted, and the only fiber waits for something else.
void fiber_at_an_event(weft::runtime& rt) {
  weft::counter received{rt};
  std::uint64_t word = 0;
  rt.default_device().until_accepted(
      [&] { return rt.default_device().post_recv(left_of(rt), bytes_of(word), received, {.tag = 5}); });
  weft::fiber_scheduler fibers{{.workers = 1}};
  weft::fiber_event never;
  weft::fiber one = fibers.spawn([&] { never.wait(); });
  one.join();
}

weft::task<> receive_in(weft::run_loop& loop, std::uint32_t peer, std::uint64_t& word) {
  static_cast<void>(co_await loop.post_recv(peer, bytes_of(word), {.tag = 5}));
}
void coroutines(weft::runtime& rt) {
  weft::run_loop loop{rt.default_device()};
  std::uint64_t words[2] = {0, 0};
  loop.spawn(receive_in(loop, left_of(rt), words[0]));
  loop.spawn(receive_in(loop, left_of(rt), words[1]));
  loop.run();
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, void (*)(weft::runtime&)> situations{
      {"receiver_first", &receiver_first},
      {"collective_missing", &collective_missing},
      {"first_collective_missing", &first_collective_missing},
      {"posted_collective_missing", &posted_collective_missing},
      {"other_collective", &other_collective},
      {"ignored_retry", &ignored_retry},
      {"engine_without_order", &engine_without_order},
      {"full_local_queue", &full_local_queue},
      {"fibers", &fibers},
      {"fibers_without_devices", &fibers_without_devices},
      {"fiber_at_an_event", &fiber_at_an_event},
      {"coroutines", &coroutines},
      {"full_queue", &full_queue},
      {"other_tag", &other_tag},
      {"other_policy", &other_policy},
      {"other_engine", &other_engine},
      {"other_rank", &other_rank},
      {"no_registration", &no_registration},
      {"ended_peer", &ended_peer},
      {"blocking", &blocking},
      {"polls", &polls},
      {"forgets_progress", &forgets_progress},
      {"forgets_itself", &forgets_itself},
      {"forgotten_device", &forgotten_device},
      {"computes", &computes},
      {"exchanges", &exchanges},
      {"other_device", &other_device},
  };
  const auto chosen = situations.find(argc == 2 ? argv[1] : "");
  if (chosen == situations.end()) {
    std::fprintf(stderr, "usage: stuck SITUATION\n");
    return 2;
  }
  weft::runtime rt;
  chosen->second(rt);
  return 0;
}
