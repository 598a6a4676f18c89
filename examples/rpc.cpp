// The backend of a library for remote procedure calls (yan2025-lci, 4.2.1): any thread may send a serialized call, poll
// for one, and do background work. A device for each thread, one queue and one completion object for all.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <weft/weft.hpp>

struct free_buffer final : weft::completion {  // once a message is sent
  explicit free_buffer(weft::runtime& rt) : completion{rt} {}
  answer signal(weft::completion_record&& sent) noexcept override {
    std::free(sent.context());
    return answer::taken;
  }
};

struct backend {
  // Takes over `buffer`, which came from malloc; false: nothing happened, try again.
  bool send_msg(weft::device& dev, std::uint32_t rank, void* buffer, std::size_t bytes) {
    const auto s = dev.post_am(rank, {1}, {buffer, bytes}, sent, {.context = buffer});
    if (s.is_done()) std::free(buffer);
    return !s.is_retry();
  }
  auto poll_msg() { return calls.pop(); }  // what it returns owns its bytes

  weft::runtime rt;
  weft::completion_queue calls{rt};
  free_buffer sent{rt};
  weft::registration arrivals = rt.register_completion(calls, {.id = 1});
};

// Above it: one procedure, which adds its argument's bytes up. Each thread calls the next rank, and serves who calls.
void work(backend& net, std::atomic<unsigned>& served, std::atomic<unsigned>& sum, unsigned expected) {
  weft::device dev{net.rt, {.shared = false}};
  for (std::size_t bytes = 1; bytes < 40'000; bytes *= 2) {
    void* argument = std::memset(std::malloc(bytes), 1, bytes);
    while (!net.send_msg(dev, (net.rt.rank() + 1) % net.rt.size(), argument, bytes)) dev.progress();
  }
  while (served.load(std::memory_order_relaxed) < expected || net.sent.outstanding() != 0) {  // relaxed: only a count
    if (const auto call = net.poll_msg()) {
      for (const std::byte b : call->data()) sum.fetch_add(std::to_integer<unsigned>(b), std::memory_order_relaxed);
      served.fetch_add(1, std::memory_order_relaxed);
    }
    if (!dev.progress()) std::this_thread::yield();
  }
}

int main() {
  backend net;
  std::atomic<unsigned> served{0}, sum{0};
  std::thread other{[&] { work(net, served, sum, 32); }};
  work(net, served, sum, 32);  // of either thread: 16 sizes below 40,000
  other.join();
  std::printf("rank %u: %u bytes\n", net.rt.rank(), sum.load(std::memory_order_relaxed));  // relaxed: after the join
  net.rt.barrier();
  return sum.load(std::memory_order_relaxed) == 2 * 65'535 ? 0 : 1;  // from either thread: 1 + 2 + 4 + ... + 32,768
}
