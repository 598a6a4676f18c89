// A rank leaves before the others. While all ranks are there, they agree which ones stay. These make a group of their
// own, and use its collectives and its barrier from then on: `runtime::barrier` fails once a rank has left.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>

#include <weft/weft.hpp>

int main() {
  weft::runtime rt;
  const bool has_work = rt.rank() != rt.size() - 1 || rt.size() == 1;  // the last rank finds that it has none

  // The last collective of all ranks. A rank that gives no colour is in none of the new groups.
  weft::group rest = rt.world().split(has_work ? std::optional{0U} : std::nullopt, rt.rank());
  if (!rest.is_valid()) {
    std::printf("rank %u: leaves early\n", rt.rank());
    return 0;  // what it has sent is received by the others
  }

  const std::uint64_t mine = rt.rank() + 1;
  std::uint64_t sum = 0;
  weft::collective::allreduce(std::span{&mine, 1}, std::span{&sum, 1}).run(rest);
  weft::collective::barrier().run(rest);  // instead of rt.barrier(): no rank ends while another one needs it
  std::printf("rank %u: is one of %u that stayed, the sum is %u\n", rt.rank(), rest.size(), static_cast<unsigned>(sum));
  return sum == std::uint64_t{rest.size()} * (rest.size() + 1) / 2 ? 0 : 1;
}
