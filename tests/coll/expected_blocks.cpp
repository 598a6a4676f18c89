// SPDX-License-Identifier: BSD-3-Clause
// The oracle of the collectives that move blocks, and of the scans.
#include "coll/expected.hpp"

namespace weft::coll::test {

namespace {

expected nothing(std::size_t size) { return {all_bytes(size), all_bytes(size), all_bytes(size)}; }

expected expect_gather(std::span<const collective_args> members, std::mt19937& random) {
  expected all = nothing(members.size());
  const std::uint32_t root = members[0].root;
  const block_list& blocks = members[root].out_blocks;
  all.before[root] = all.after[root] = some(end_of(members[root], blocks), random);
  for (const collective_args& each : members) {
    const std::vector<std::byte> own = some(bytes_of(members[root], blocks, each.rank), random);
    set_block(all.after[root], members[root], blocks, each.rank, own);
    if (each.is_inplace && each.rank == root) {
      set_block(all.before[root], each, blocks, root, own);
    } else {
      all.in[each.rank] = own;
    }
  }
  return all;
}

expected expect_scatter(std::span<const collective_args> members, std::mt19937& random) {
  expected all = nothing(members.size());
  const std::uint32_t root = members[0].root;
  const block_list& blocks = members[root].in_blocks;
  all.in[root] = some(end_of(members[root], blocks), random);
  for (const collective_args& each : members) {
    if (each.is_inplace && each.rank == root) continue;
    const auto own = block(all.in[root], members[root], blocks, each.rank);
    all.before[each.rank] = some(own.size(), random);
    all.after[each.rank].assign(own.begin(), own.end());
  }
  return all;
}

expected expect_allgather(std::span<const collective_args> members, std::mt19937& random) {
  expected all = nothing(members.size());
  for (const collective_args& each : members) all.before[each.rank] = some(end_of(each, each.out_blocks), random);
  all.after = all.before;
  for (const collective_args& from : members) {
    const std::vector<std::byte> own = some(bytes_of(from, from.out_blocks, from.rank), random);
    for (const collective_args& to : members) set_block(all.after[to.rank], to, to.out_blocks, from.rank, own);
    if (from.is_inplace) {
      set_block(all.before[from.rank], from, from.out_blocks, from.rank, own);
    } else {
      all.in[from.rank] = own;
    }
  }
  return all;
}

expected expect_alltoall(std::span<const collective_args> members, std::mt19937& random) {
  expected all = nothing(members.size());
  for (const collective_args& each : members) {
    if (!each.is_inplace) all.in[each.rank] = some(end_of(each, each.in_blocks), random);
    all.before[each.rank] = some(end_of(each, each.out_blocks), random);
  }
  all.after = all.before;
  for (const collective_args& from : members) {
    const std::vector<std::byte>& given = from.is_inplace ? all.before[from.rank] : all.in[from.rank];
    const block_list& blocks = from.is_inplace ? from.out_blocks : from.in_blocks;
    for (const collective_args& to : members)
      set_block(all.after[to.rank], to, to.out_blocks, from.rank, block(given, from, blocks, to.rank));
  }
  return all;
}

// Each rank gets the reduced inputs of the ranks below, and its own if `with_own`.
expected expect_scan(std::span<const collective_args> members, std::mt19937& random, bool with_own) {
  expected all = nothing(members.size());
  all_bytes given(members.size());
  for (const collective_args& each : members) {
    given[each.rank] = some(each.block_bytes, random);
    (each.is_inplace ? all.before : all.in)[each.rank] = given[each.rank];
    if (!each.is_inplace) all.before[each.rank] = some(each.block_bytes, random);
  }
  all.after = all.before;
  for (const collective_args& each : members) {
    const std::uint32_t count = each.rank + (with_own ? 1 : 0);
    if (count != 0) all.after[each.rank] = reduced(given, count, 0, each.block_bytes);
  }
  return all;
}

}  // namespace

expected expect_blocks(std::span<const collective_args> members, std::mt19937& random) {
  switch (members[0].operation) {
    case operation::gather: return expect_gather(members, random);
    case operation::scatter: return expect_scatter(members, random);
    case operation::allgather: return expect_allgather(members, random);
    case operation::alltoall: return expect_alltoall(members, random);
    case operation::scan: return expect_scan(members, random, true);
    case operation::exscan: return expect_scan(members, random, false);
    default: return nothing(members.size());
  }
}

}  // namespace weft::coll::test
