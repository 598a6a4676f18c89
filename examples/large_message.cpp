// A message of 16 MiB goes straight from the sender's buffer into one that the receiver has chosen.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <weft/weft.hpp>

constexpr std::size_t large = std::size_t{16} << 20;

// Lends its one buffer to one message at a time. Called by the thread that makes progress: here that is main alone.
class one_buffer final : public weft::buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t /*source*/, std::uint64_t /*tag*/) noexcept override {
    if (lent_ || bytes > memory_.size()) return nullptr;  // not now: the message stays with its sender
    lent_ = true;
    return memory_.data();
  }
  void deallocate(void* /*memory*/, std::size_t /*bytes*/) noexcept override { lent_ = false; }

 private:
  std::vector<std::byte> memory_ = std::vector<std::byte>(large);
  bool lent_ = false;
};

int main() {
  one_buffer buffer;  // made before the runtime, it outlives all messages
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1, .allocator = &buffer});

  const std::vector<std::byte> data(large, std::byte(rt.rank() + 1));
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  dev.until_accepted([&] { return dev.post_am(next, {.id = 1}, data, sent, {.tag = 42}); });
  const auto got = dev.wait(inbox);
  dev.wait_all(sent);  // it was posted, not done: the receiver fetches from `data`, which is ours again only now
  const auto whole = std::ranges::count(got->data(), std::byte(got->source() + 1));
  std::printf("rank %u: %zu bytes from rank %u, %s\n", rt.rank(), got->bytes(), got->source(),
              static_cast<std::size_t>(whole) == large ? "all of them right" : "NOT as they were sent");
  rt.barrier();
  return static_cast<std::size_t>(whole) == large ? 0 : 1;
}
