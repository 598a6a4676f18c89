// SPDX-License-Identifier: BSD-3-Clause
// The oracle of broadcast, and of the reductions but the scans.
#include "coll/expected.hpp"

namespace weft::coll::test {

expected expect_broadcast(std::span<const collective_args> of, std::mt19937& random) {
  expected all{all_bytes(of.size()), all_bytes(of.size()), all_bytes(of.size())};
  const std::uint32_t root = of[0].root;
  all.in[root] = some(of[root].block_bytes, random);
  for (const collective_args& each : of) {
    if (each.rank == root) continue;
    all.before[each.rank] = some(each.block_bytes, random);
    all.after[each.rank] = all.in[root];
  }
  return all;
}

// Each rank has an input for all ranks, and gets `count` bytes of the reduced one, or nothing.
expected expect_reduction(std::span<const collective_args> of, std::mt19937& random) {
  expected all{all_bytes(of.size()), all_bytes(of.size()), all_bytes(of.size())};
  const bool scatters = of[0].operation == operation::reduce_scatter;
  const auto gets = [](const collective_args& each) {
    return each.operation != operation::reduce || each.rank == each.root;
  };
  // The blocks of all ranks one behind the other, though they may lie elsewhere.
  all_bytes given(of.size());
  std::vector<std::uint64_t> begins{0};
  for (std::uint32_t rank = 0; rank < of.size(); ++rank)
    begins.push_back(begins.back() + (scatters ? bytes_of(of[0], of[0].out_blocks, rank) : 0));
  for (const collective_args& each : of) {
    std::vector<std::byte>& own = given[each.rank];
    own = some(scatters ? begins.back() : each.block_bytes, random);
    std::vector<std::byte> laid_out = own;
    if (scatters) {
      laid_out = some(end_of(each, each.out_blocks), random);
      for (std::uint32_t rank = 0; rank < of.size(); ++rank)
        set_block(laid_out, each, each.out_blocks, rank,
                  std::span{own}.subspan(begins[rank], begins[rank + 1] - begins[rank]));
    }
    const bool is_inplace = each.is_inplace && gets(each);
    (is_inplace ? all.before : all.in)[each.rank] = laid_out;
    if (is_inplace || !gets(each)) continue;
    all.before[each.rank] = some(scatters ? bytes_of(each, each.out_blocks, each.rank) : each.block_bytes, random);
  }
  for (const collective_args& each : of) {
    if (!gets(each)) continue;
    const std::uint64_t begin = begins[scatters ? each.rank : 0];
    const std::uint64_t bytes = scatters ? begins[each.rank + 1] - begin : each.block_bytes;
    all.after[each.rank] = reduced(given, each.size, begin, bytes);
  }
  return all;
}

}  // namespace weft::coll::test
