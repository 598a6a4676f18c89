// Barrier along a binomial tree: signals go up to rank 0, and down again. Half the ranks wait for one message alone.
//
// Cost, n ranks: 2 ceil(log2 n) rounds, 2 (n - 1) messages of no bytes.
#include <bit>

#include "coll/algorithms/algorithms.hpp"
#include "coll/schedule.hpp"

namespace weft::coll {

void tree_barrier(schedule& out, const shape& of) {
  constexpr std::uint32_t up = 0, down = 1;
  const std::uint32_t width = std::bit_ceil(of.size);
  const std::uint32_t lowest = of.rank == 0 ? width : of.rank & -of.rank;
  step_ref last;
  for (std::uint32_t bit = 1; bit < lowest; bit *= 2) {
    if (of.rank + bit < of.size) last = out.receive(of.rank + bit, up, {}, {last});
  }
  if (of.rank != 0) {
    out.send(of.rank - lowest, up, {}, {last});
    last = out.receive(of.rank - lowest, down, {});
  }
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (of.rank + bit < of.size) out.send(of.rank + bit, down, {}, {last});
  }
}

}  // namespace weft::coll
