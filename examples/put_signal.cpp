// Puts that say when they are there: each rank writes blocks into the two slots of its right neighbour, whose queue is
// signalled once the data is in place. Signals have no order, so the tag names the block; nor do the answers that free
// a slot, so they name the slot.
#include <array>
#include <cstdio>

#include <weft/weft.hpp>

using block = std::array<std::uint64_t, 1000>;
constexpr std::uint64_t blocks = 50, slots = 2, arrived_id = 1, freed_id = 2;

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  const std::uint32_t right = (rt.rank() + 1) % rt.size(), left = (rt.rank() + rt.size() - 1) % rt.size();
  weft::counter local{rt};
  weft::completion_queue arrived{rt}, freed{rt};
  const auto to_arrived = rt.register_completion(arrived, {.id = arrived_id});
  const auto to_freed = rt.register_completion(freed, {.id = freed_id});

  const weft::memory_region memory{rt, slots * sizeof(block)};
  const auto mine = memory.as<block>();
  weft::remote_region theirs;
  dev.until_accepted([&] { return dev.post_recv(right, std::span{&theirs, 1}, local); });
  dev.until_accepted([&] { return dev.post_send(left, std::span{&memory.handle(), 1}, local); });
  dev.wait_all(local);

  std::array<block, slots> out{};
  std::array<bool, slots> is_free{true, true};
  std::uint64_t wrong = 0;
  for (std::uint64_t put = 0, taken = 0; put < blocks || taken < blocks;) {
    if (const std::uint64_t slot = put % slots; put < blocks && is_free[slot]) {
      dev.wait_all(local);  // `out` is ours again
      out[slot].fill(put * 1000 + rt.rank());
      const weft::remote_buffer there{theirs, slot * sizeof(block)};
      dev.until_accepted(
          [&] { return dev.post_put(right, out[slot], there, local, {.signal = {arrived_id}, .tag = put}); });
      is_free[slot] = false;
      ++put;
    }
    dev.progress();
    if (const auto signal = arrived.pop()) {
      const std::uint64_t number = signal->tag();
      for (const std::uint64_t word : mine[number % slots]) wrong += word != number * 1000 + left;
      ++taken;
      dev.until_accepted([&] { return dev.post_am(left, {freed_id}, {}, local, {.tag = number % slots}); });
    }
    while (const auto answer = freed.pop()) is_free[answer->tag()] = true;
  }
  dev.wait_all(local);
  std::printf("rank %u: 50 blocks came from rank %u, %u words wrong\n", rt.rank(), left, static_cast<unsigned>(wrong));
  rt.barrier();  // no rank writes into the region after this
  return wrong == 0 ? 0 : 1;
}
