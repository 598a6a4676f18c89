// Pairs of coroutines on two ranks play ping-pong, all in one thread: each reads as if it were alone, and while it
// waits the others play.
#include <array>
#include <cstdio>
#include <cstdlib>

#include <weft/weft.hpp>

constexpr std::uint32_t players = 100;
constexpr std::uint64_t rounds = 20;

weft::task<std::uint64_t> wait_for_ball(weft::run_loop& loop, std::uint32_t peer, std::uint32_t player) {
  std::uint64_t ball = 0;
  const auto record = co_await loop.post_recv(peer, std::span{&ball, 1}, {.tag = player});
  if (record.error() != weft::errc::none) std::abort();
  co_return ball;
}

weft::task<> hit(weft::run_loop& loop, std::uint32_t peer, std::uint32_t player, std::uint64_t ball) {
  // What is given as an rvalue belongs to the operation until its end; *retry* is the loop's affair.
  const auto record = co_await loop.post_send(peer, std::array{ball}, {.tag = player});
  if (record.error() != weft::errc::none) std::abort();
}

weft::task<> play(weft::run_loop& loop, std::uint32_t rank, std::uint32_t player, std::uint32_t& finished) {
  const std::uint32_t peer = 1 - rank;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    if (rank == 0) co_await hit(loop, peer, player, round);
    if (co_await wait_for_ball(loop, peer, player) != round) std::abort();
    if (rank == 1) co_await hit(loop, peer, player, round);
  }
  ++finished;
}

int main() {
  weft::runtime rt;
  if (rt.size() != 2) return std::fprintf(stderr, "coroutine_ping_pong: start it on two ranks\n"), 2;
  weft::run_loop loop{rt.default_device()};
  std::uint32_t finished = 0;
  for (std::uint32_t player = 0; player < players; ++player) loop.spawn(play(loop, rt.rank(), player, finished));
  loop.run();  // makes progress and resumes who is ready, until all have ended
  std::printf("rank %u: %u coroutines played %u rounds\n", rt.rank(), finished, static_cast<unsigned>(rounds));
  rt.barrier();
  return finished == players ? 0 : 1;
}
