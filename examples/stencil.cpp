// Heat flows along a rod that is spread over all ranks. In each step every rank exchanges its outermost cells with its
// neighbours. Messages have no order, so the step is in the tag: a constant tag would mix the steps up.
#include <cstdio>
#include <span>
#include <vector>

#include <weft/weft.hpp>

constexpr std::size_t cells = 100;  // each rank has so many
constexpr std::uint64_t steps = 200;
constexpr std::uint64_t leftward = 0, rightward = 1;

// The first and the last cell are the neighbours'; beyond the rod's ends it is cold.
void step_on(std::vector<double>& rod) {
  std::vector<double> next = rod;
  for (std::size_t i = 1; i + 1 < rod.size(); ++i) next[i] = rod[i] + (rod[i - 1] - 2 * rod[i] + rod[i + 1]) / 4;
  rod = next;
}

double warmth(std::size_t cell) { return static_cast<double>(cell * 7919 % 1000); }

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::counter sent{rt}, received{rt};
  const std::uint32_t rank = rt.rank(), last = rt.size() - 1;
  std::vector<double> mine(cells + 2), whole(cells * rt.size() + 2);
  for (std::size_t i = 1; i + 1 < whole.size(); ++i) whole[i] = warmth(i);
  for (std::size_t i = 1; i <= cells; ++i) mine[i] = whole[rank * cells + i];

  const auto exchange = [&](std::uint32_t peer, std::size_t edge, std::size_t beyond, std::uint64_t out_tag,
                            std::uint64_t in_tag) {
    dev.until_accepted([&] { return dev.post_recv(peer, std::span{&mine[beyond], 1}, received, {.tag = in_tag}); });
    dev.until_accepted([&] { return dev.post_send(peer, std::span{&mine[edge], 1}, sent, {.tag = out_tag}); });
  };
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (rank > 0) exchange(rank - 1, 1, 0, 2 * step + leftward, 2 * step + rightward);
    if (rank < last) exchange(rank + 1, cells, cells + 1, 2 * step + rightward, 2 * step + leftward);
    dev.wait_all({&sent, &received});
    step_on(mine);
  }

  for (std::uint64_t step = 0; step < steps; ++step) step_on(whole);
  bool is_right = received.failed() == 0;
  for (std::size_t i = 1; i <= cells; ++i) is_right &= mine[i] == whole[rank * cells + i];
  std::printf("rank %u: %u steps, %s\n", rank, static_cast<unsigned>(steps), is_right ? "all right" : "WRONG");
  rt.barrier();
  return is_right ? 0 : 1;
}
