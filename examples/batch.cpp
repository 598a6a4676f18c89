// Threads that post what belongs to one step, and one signal when all of it is complete: each rank sends a row to each
// other rank and receives theirs, in steps.
#include <barrier>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

constexpr std::size_t columns = 4096;
constexpr std::uint32_t threads = 2, steps = 10;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue ends{rt};
  weft::batch step{rt};
  std::vector<std::uint64_t> mine(columns), theirs(columns * rt.size());
  // A thread's part of a step: every second rank.
  const auto post = [&](std::uint32_t first, std::uint64_t tag) {
    for (std::uint32_t peer = first; peer < rt.size(); peer += threads) {
      const std::span row{&theirs[peer * columns], columns};
      dev.until_accepted([&] { return dev.post_recv(peer, row, step, {.tag = tag}); });
      dev.until_accepted([&] { return dev.post_send(peer, std::span{mine}, step, {.tag = tag}); });
    }
  };
  bool right = true;
  std::barrier together{threads};
  std::jthread other{[&] {
    for (std::uint64_t tag = 0; tag < steps; ++tag) {
      together.arrive_and_wait();  // the row is written
      post(1, tag);
      together.arrive_and_wait();  // all is posted
    }
  }};
  for (std::uint64_t tag = 0; tag < steps; ++tag) {
    for (std::uint64_t& each : mine) each = rt.rank() + tag;
    together.arrive_and_wait();
    post(0, tag);
    together.arrive_and_wait();
    if (step.close(ends).is_posted()) right = dev.wait(ends)->error() == weft::errc::none && right;
    for (std::size_t i = 0; i < theirs.size(); ++i) right = right && theirs[i] == i / columns + tag;
  }
  std::printf("rank %u: %u steps %s\n", rt.rank(), steps, right ? "right" : "WRONG");
  rt.barrier();
  return right ? 0 : 1;
}
