// Two threads on each of two ranks play ping-pong. Each has a device and an inbox of its own and meets its counterpart.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint32_t thread_count = 2;
constexpr std::uint64_t rounds = 2000;

struct player {
  player(weft::runtime& rt, std::uint32_t thread)
      : dev{rt, {.shared = false}}, inbox{rt}, sent{rt}, arrivals{rt.register_completion(inbox, {.id = 1 + thread})} {}

  void hit(std::uint32_t peer, std::uint64_t round) {
    dev.until_accepted([&] { return dev.post_am(peer, {arrivals.id()}, {}, sent, {.tag = round}); });
  }

  void play(std::uint32_t rank, std::uint32_t thread) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t round = 0; round < rounds; ++round) {
      if (rank == 0) hit(1, round);
      if (dev.wait(inbox)->tag() != round) std::abort();  // lets others run when there are more threads than cores
      if (rank == 1) hit(0, round);
    }
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    std::printf("rank %u thread %u: %.2f us a round trip\n", rank, thread, time.count() / rounds);
  }

  weft::device dev;  // used by this player's thread alone: it need not be shared
  weft::completion_queue inbox;
  weft::counter sent;
  weft::registration arrivals;  // last, so that it goes first
};

int main() {
  weft::runtime rt;
  if (rt.size() != 2) return std::fprintf(stderr, "ping_pong: start it on two ranks: weft-run -n 2 ping_pong\n"), 2;
  std::deque<player> players;  // all ranks make their devices in the same order: counterparts have the same index
  for (std::uint32_t thread = 0; thread < thread_count; ++thread) players.emplace_back(rt, thread);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < thread_count; ++i) {
    threads.emplace_back([&, i] { players[i].play(rt.rank(), i); });
  }
  for (std::thread& each : threads) each.join();
  rt.barrier();
}
