// A first latency: 8-byte active messages to and fro between two ranks, a queue as completion, devices of their own.
//   weft-run -n 2 --bind core build/bin/am_latency
// Rank 0 prints one JSON object: many short rounds; minimum, median and maximum of their means, one way, in ns.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "weft/weft.hpp"

namespace {

constexpr int rounds = 101;
constexpr int exchanges = 2000;  // in a round

class player {
 public:
  player(weft::runtime& rt, weft::device& dev) : peer_{1 - rt.rank()}, dev_{dev}, inbox_{rt}, sent_{rt} {
    arrivals_ = rt.register_completion(inbox_, {.id = 1});
  }

  void send(std::uint64_t word) {
    while (dev_.post_am(peer_, {1}, std::span{&word, 1}, sent_).is_retry()) dev_.progress();
  }

  void receive() {
    for (std::uint32_t quiet = 0; !inbox_.pop();) {
      if (!dev_.progress() && ++quiet % 4096 == 0) std::this_thread::yield();
    }
  }

 private:
  std::uint32_t peer_;
  weft::device& dev_;
  weft::completion_queue inbox_;
  weft::counter sent_;
  weft::registration arrivals_;
};

}  // namespace

int main() {
  weft::runtime rt;
  if (rt.size() != 2) {
    std::fprintf(stderr, "am_latency: needs two ranks, as in: weft-run -n 2 --bind core am_latency\n");
    return 1;
  }
  weft::device dev{rt, {.shared = false}};
  player me{rt, dev};
  rt.barrier();
  std::vector<double> means;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < exchanges; ++i) {
      if (rt.rank() == 0) me.send(i);
      me.receive();
      if (rt.rank() == 1) me.send(i);
    }
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    means.push_back(took.count() / (2.0 * exchanges));
  }
  rt.barrier();
  std::sort(means.begin(), means.end());
  if (rt.rank() == 0) {
    std::printf(
        "{\"claim\": \"am_latency\", \"bytes\": 8, \"rounds\": %d, \"min_ns\": %.0f, \"median_ns\": %.0f, \"max_ns\": "
        "%.0f}\n",
        rounds, means.front(), means[means.size() / 2], means.back());
  }
  return 0;
}
