// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the collectives that move blocks, and of the scans.
#include "coll/expected.hpp"

namespace weft::coll::test {

namespace {

expected nothing(std::size_t size) { return {all_bytes(size), all_bytes(size), all_bytes(size)}; }

expected expect_gather(std::span<const collective_args> of, std::mt19937& random) {
  expected all = nothing(of.size());
  const std::uint32_t root = of[0].root;
  const block_list& blocks = of[root].out_blocks;
  all.before[root] = all.after[root] = some(end_of(of[root], blocks), random);
  for (const collective_args& each : of) {
    const std::vector<std::byte> own = some(bytes_of(of[root], blocks, each.rank), random);
    set_block(all.after[root], of[root], blocks, each.rank, own);
    if (each.is_inplace && each.rank == root) {
      set_block(all.before[root], each, blocks, root, own);
    } else {
      all.in[each.rank] = own;
    }
  }
  return all;
}

expected expect_scatter(std::span<const collective_args> of, std::mt19937& random) {
  expected all = nothing(of.size());
  const std::uint32_t root = of[0].root;
  const block_list& blocks = of[root].in_blocks;
  all.in[root] = some(end_of(of[root], blocks), random);
  for (const collective_args& each : of) {
    if (each.is_inplace && each.rank == root) continue;
    const auto own = block(all.in[root], of[root], blocks, each.rank);
    all.before[each.rank] = some(own.size(), random);
    all.after[each.rank].assign(own.begin(), own.end());
  }
  return all;
}

expected expect_allgather(std::span<const collective_args> of, std::mt19937& random) {
  expected all = nothing(of.size());
  for (const collective_args& each : of) all.before[each.rank] = some(end_of(each, each.out_blocks), random);
  all.after = all.before;
  for (const collective_args& from : of) {
    const std::vector<std::byte> own = some(bytes_of(from, from.out_blocks, from.rank), random);
    for (const collective_args& to : of) set_block(all.after[to.rank], to, to.out_blocks, from.rank, own);
    if (from.is_inplace) {
      set_block(all.before[from.rank], from, from.out_blocks, from.rank, own);
    } else {
      all.in[from.rank] = own;
    }
  }
  return all;
}

expected expect_alltoall(std::span<const collective_args> of, std::mt19937& random) {
  expected all = nothing(of.size());
  for (const collective_args& each : of) {
    if (!each.is_inplace) all.in[each.rank] = some(end_of(each, each.in_blocks), random);
    all.before[each.rank] = some(end_of(each, each.out_blocks), random);
  }
  all.after = all.before;
  for (const collective_args& from : of) {
    const std::vector<std::byte>& given = from.is_inplace ? all.before[from.rank] : all.in[from.rank];
    const block_list& blocks = from.is_inplace ? from.out_blocks : from.in_blocks;
    for (const collective_args& to : of)
      set_block(all.after[to.rank], to, to.out_blocks, from.rank, block(given, from, blocks, to.rank));
  }
  return all;
}

// Each rank gets the reduced inputs of the ranks below, and its own if `with_own`.
expected expect_scan(std::span<const collective_args> of, std::mt19937& random, bool with_own) {
  expected all = nothing(of.size());
  all_bytes given(of.size());
  for (const collective_args& each : of) {
    given[each.rank] = some(each.block_bytes, random);
    (each.is_inplace ? all.before : all.in)[each.rank] = given[each.rank];
    if (!each.is_inplace) all.before[each.rank] = some(each.block_bytes, random);
  }
  all.after = all.before;
  for (const collective_args& each : of) {
    const std::uint32_t count = each.rank + (with_own ? 1 : 0);
    if (count != 0) all.after[each.rank] = reduced(given, count, 0, each.block_bytes);
  }
  return all;
}

}  // namespace

expected expect_blocks(std::span<const collective_args> of, std::mt19937& random) {
  switch (of[0].operation) {
    case operation::gather: return expect_gather(of, random);
    case operation::scatter: return expect_scatter(of, random);
    case operation::allgather: return expect_allgather(of, random);
    case operation::alltoall: return expect_alltoall(of, random);
    case operation::scan: return expect_scan(of, random, true);
    case operation::exscan: return expect_scan(of, random, false);
    default: return nothing(of.size());
  }
}

}  // namespace weft::coll::test
