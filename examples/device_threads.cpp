// Threads with a device each, which serve their device until all threads of the job are done: a rank's barrier looks
// after its default device alone. Each thread says at every rank that its own work is done, and waits on its device
// until all have said so.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <thread>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint32_t work_id = 1, done_id = 2, threads = 2, messages = 200;

int main() {
  weft::runtime rt;
  weft::counter work{rt}, done{rt};
  const auto to_work = rt.register_completion(work, {.id = work_id});
  const auto to_done = rt.register_completion(done, {.id = done_id});
  std::vector<std::optional<weft::device>> devices(threads);
  for (auto& each : devices) each.emplace(rt);
  rt.barrier();  // all ranks have their devices

  std::vector<std::jthread> all;
  for (auto& mine : devices) {
    all.emplace_back([&rt, &done, &dev = *mine] {
      weft::counter sent{rt};
      for (std::uint32_t i = 0; i < messages; ++i)
        dev.until_accepted([&] { return dev.post_am((rt.rank() + i) % rt.size(), {work_id}, {}, sent); });
      dev.wait_all(sent);
      for (std::uint32_t rank = 0; rank < rt.size(); ++rank)
        dev.until_accepted([&] { return dev.post_am(rank, {done_id}, {}, sent); });
      dev.wait(done, std::uint64_t{threads} * rt.size());  // serves this device meanwhile
    });
  }
  all.clear();  // joins them
  // A message of work may be on its way yet, though its sender is done: so count what is to come.
  std::uint64_t expected = 0;
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) {
    for (std::uint32_t i = 0; i < messages; ++i) expected += (rank + i) % rt.size() == rt.rank() ? threads : 0;
  }
  weft::device& dev = rt.default_device();
  while (work.value() < expected) {
    for (auto& each : devices) each->progress();
    dev.progress();
  }
  std::printf("rank %u: %u messages came\n", rt.rank(), static_cast<unsigned>(work.value()));
  rt.barrier();
}
