// A histogram that is spread over all ranks: each owns a part of the bins, and everybody counts in all of them by
// remote atomics. The owners do nothing: their memory is mapped by the others, or their barrier makes progress.
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint64_t bins_per_rank = 8, samples = 10'000;

// Every rank learns where the bins of every other rank are: a handle is plain bytes.
std::vector<weft::remote_region> exchange(weft::runtime& rt, const weft::remote_region& mine) {
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  std::vector<weft::remote_region> all(rt.size());
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) {
    while (dev.post_am(rank, {1}, std::span{&mine, 1}, sent).is_retry()) dev.progress();
  }
  for (std::uint32_t heard = 0; heard < rt.size();) {
    dev.progress();
    while (const auto message = inbox.pop()) {
      std::memcpy(&all[message->source()], message->data().data(), sizeof mine);
      ++heard;
    }
  }
  return all;
}

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::memory_region bins{rt, bins_per_rank * sizeof(std::uint64_t)};  // zeroes
  const auto owners = exchange(rt, bins.handle());

  weft::counter counted{rt};
  std::mt19937_64 random{rt.rank()};
  std::binomial_distribution<std::uint64_t> sample{bins_per_rank * rt.size() - 1, 0.5};
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t bin = sample(random);
    const auto owner = static_cast<std::uint32_t>(bin / bins_per_rank);
    const weft::remote_buffer place{owners[owner], bin % bins_per_rank * sizeof(std::uint64_t)};
    while (dev.post_atomic<std::uint64_t>(owner, weft::atomic_op::fetch_add, 1, place, counted).is_retry()) {
      dev.progress();
    }
  }
  dev.flush();   // all of mine are counted
  rt.barrier();  // and everybody's
  std::uint64_t sum = 0;
  for (const std::uint64_t count : bins.as<std::uint64_t>()) sum += count;
  std::printf("rank %u: %llu of %llu samples\n", rt.rank(), static_cast<unsigned long long>(sum),
              static_cast<unsigned long long>(samples * rt.size()));
  rt.barrier();  // nobody leaves while somebody still looks
}
