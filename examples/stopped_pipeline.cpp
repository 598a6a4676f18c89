// A pipeline that stops in the middle: its last rank tells all others, whose stop tokens take back receives and long
// sends that still wait. Short sends are done at once, unless they have `.complete_at = delivered`.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <stop_token>
#include <vector>

#include <weft/weft.hpp>

using block = std::vector<std::uint64_t>;
constexpr std::size_t words = 4096;  // long: it stays with its sender until it is received
constexpr std::uint32_t blocks_wanted = 5;

weft::task<> produce(weft::run_loop& loop, std::uint32_t next, std::stop_token stop) {
  for (std::uint64_t number = 0;; ++number) {
    block made(words, number);
    const auto sent = co_await loop.post_send(next, std::move(made), {.tag = 1}, stop);
    if (sent.error() != weft::errc::none) co_return;  // cancelled: the next stage has stopped
  }
}

weft::task<> pass_on(weft::run_loop& loop, std::uint32_t before, std::uint32_t next, std::stop_token stop) {
  for (;;) {
    block room(words);
    auto got = co_await loop.post_recv(before, std::move(room), {.tag = 1}, stop);
    if (got.record.error() != weft::errc::none) co_return;
    const auto sent = co_await loop.post_send(next, std::move(got.buffer), {.tag = 1}, stop);
    if (sent.error() != weft::errc::none) co_return;
  }
}

weft::task<> consume(weft::run_loop& loop, std::uint32_t before, weft::remote_completion stops, std::uint32_t size) {
  for (std::uint32_t taken = 0; taken < blocks_wanted; ++taken) {
    block room(words);
    const auto got = co_await loop.post_recv(before, std::move(room), {.tag = 1});
    if (got.buffer.front() != got.buffer.back()) std::abort();
  }
  for (std::uint32_t rank = 0; rank < size; ++rank)
    static_cast<void>(co_await loop.post_am(rank, stops, std::array{'s'}));
}

int main() {
  weft::runtime rt;
  std::stop_source stop;
  weft::handler on_stop{rt, [&](weft::completion_record&&) { stop.request_stop(); }};  // never waits
  const auto stops = rt.register_completion(on_stop, {.id = 1});
  weft::run_loop loop{rt.default_device()};
  const std::uint32_t me = rt.rank(), last = rt.size() - 1;
  if (me == 0) loop.spawn(produce(loop, std::min(1U, last), stop.get_token()));
  if (me != 0 && me != last) loop.spawn(pass_on(loop, me - 1, me + 1, stop.get_token()));
  if (me == last) loop.spawn(consume(loop, me == 0 ? 0 : me - 1, {1}, rt.size()));
  loop.run();    // until all stages of this rank have ended
  rt.barrier();  // and here those of the others
  const auto left = rt.counters().sends_waiting + rt.counters().receives_waiting;
  std::printf("rank %u: stopped, and %u messages are left over\n", me, static_cast<unsigned>(left));
  return left == 0 ? 0 : 1;
}
