// A histogram that is spread over all ranks: each owns a part of the bins, and everybody counts in all of them by
// remote atomics. The owners do nothing: their memory is mapped by the others, or their barrier makes progress.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/weft.hpp>

constexpr std::uint64_t bins_per_rank = 8, numbers_per_rank = 10'000;

// Numbers are counted by how many of their bits are set.
std::uint64_t bin_of(std::uint64_t n, std::uint64_t bins) { return static_cast<unsigned>(std::popcount(n)) % bins; }

// Every rank learns where the bins of every other rank are: a handle is plain bytes.
std::vector<weft::remote_region> exchange(weft::runtime& rt, const weft::remote_region& mine) {
  weft::device& dev = rt.default_device();
  weft::completion_queue inbox{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  std::vector<weft::remote_region> all(rt.size());
  for (std::uint32_t rank = 0; rank < rt.size(); ++rank) {
    dev.until_accepted([&] { return dev.post_am(rank, {.id = 1}, std::span{&mine, 1}, sent); });
  }
  for (std::uint32_t heard = 0; heard < rt.size(); ++heard) {
    const auto message = dev.wait(inbox);
    std::memcpy(&all[message->source()], message->data().data(), sizeof mine);
  }
  return all;
}

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  const std::uint64_t all_bins = bins_per_rank * rt.size(), numbers = numbers_per_rank * rt.size();
  weft::memory_region mine{rt, bins_per_rank * sizeof(std::uint64_t)};  // zeroes
  const auto owners = exchange(rt, mine.handle());

  weft::counter counted{rt};
  for (std::uint64_t number = rt.rank(); number < numbers; number += rt.size()) {
    const std::uint64_t bin = bin_of(number, all_bins);
    const auto owner = static_cast<std::uint32_t>(bin / bins_per_rank);
    const weft::remote_buffer target{owners[owner], bin % bins_per_rank * sizeof(std::uint64_t)};
    dev.until_accepted(
        [&] { return dev.post_atomic<std::uint64_t>(owner, weft::atomic_op::fetch_add, 1, target, counted); });
  }
  dev.flush();   // all of mine are counted
  rt.barrier();  // and everybody's
  std::vector<std::uint64_t> expected(all_bins);
  for (std::uint64_t number = 0; number < numbers; ++number) ++expected[bin_of(number, all_bins)];
  const bool right = std::ranges::equal(mine.as<std::uint64_t>(),
                                        std::span{expected}.subspan(rt.rank() * bins_per_rank, bins_per_rank));
  std::printf("rank %u: %s\n", rt.rank(), right ? "all bins are right" : "bins are WRONG");
  rt.barrier();  // no rank ends while another one still reads its bins
  return right ? 0 : 1;
}
