// Neighbours on a ring of ranks exchange rows by send and receive, several threads at once: each thread's tag is its
// own, so messages find their receives whatever their order.
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint32_t thread_count = 2;
constexpr std::uint64_t rounds = 20;
constexpr std::size_t row = 3000;  // numbers: longer than a packet, so the receiver fetches them

void exchange(weft::runtime& rt, std::uint32_t thread) {
  weft::device dev{rt, {.shared = false}};  // this thread's own
  weft::counter sent{rt}, received{rt};
  const std::uint32_t right = (rt.rank() + 1) % rt.size();
  const std::uint32_t left = (rt.rank() + rt.size() - 1) % rt.size();
  std::vector<std::uint64_t> mine(row), theirs(row);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    const std::uint64_t tag = round * thread_count + thread;
    mine.assign(row, rt.rank() * 1000 + tag);
    dev.until_accepted([&] { return dev.post_recv(left, theirs, received, {.tag = tag}); });
    dev.until_accepted([&] { return dev.post_send(right, mine, sent, {.tag = tag}); });
    dev.wait_all({&sent, &received});
    if (received.failed() != 0) std::abort();  // such as a row that is longer than its buffer
    if (theirs != std::vector<std::uint64_t>(row, left * 1000 + tag)) std::abort();
  }
}

int main() {
  weft::runtime rt;
  std::vector<std::thread> threads;
  for (std::uint32_t thread = 0; thread < thread_count; ++thread) {
    threads.emplace_back([&rt, thread] { exchange(rt, thread); });
  }
  for (std::thread& each : threads) each.join();
  std::printf("rank %u: %u rows from its neighbour\n", rt.rank(), static_cast<unsigned>(rounds * thread_count));
  rt.barrier();
}
