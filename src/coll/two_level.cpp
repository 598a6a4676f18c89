// SPDX-License-Identifier: BSD-3-Clause
#include "coll/two_level.hpp"

#include <algorithm>

#include "base/assertion.hpp"
#include "coll/choose.hpp"
#include "coll/node_map.hpp"

namespace weft::coll {

namespace {

// Of the same kind, without the lists of the whole group.
shape inner_shape(const shape& of, operation which, std::uint64_t block_bytes, bool is_inplace) {
  return {.operation = which,
          .block_bytes = block_bytes,
          .element_bytes = of.element_bytes,
          .segment_bytes = of.segment_bytes,
          .is_commutative = of.is_commutative,
          .is_inplace = is_inplace};
}

std::uint32_t index_of(std::span<const std::uint32_t> members, std::uint32_t rank) {
  return static_cast<std::uint32_t>(std::ranges::find(members, rank) - members.begin());
}

}  // namespace

bool has_two_levels(const shape& of) {
  return of.nodes != nullptr && of.nodes->has_two_levels() && of.nodes->members_max() <= phases::members_max;
}

bool can_reduce_on_two_levels(const shape& of) {
  return has_two_levels(of) && (of.is_commutative || of.nodes->are_in_order());
}

two_levels::two_levels(schedule& out, const shape& of, std::uint32_t root)
    : of_{of},
      phases_{out},
      near_{of.nodes->members_of(of.nodes->node_of(of.rank))},
      node_{of.nodes->node_of(of.rank)},
      root_node_{of.nodes->node_of(root)} {
  for (std::uint32_t node = 0; node < of.nodes->nodes(); ++node)
    leaders_.push_back(node == root_node_ ? root : of.nodes->members_of(node).front());
}

shape two_levels::shape_within(operation which, std::uint64_t block_bytes, bool is_inplace) const {
  shape inner = inner_shape(of_, which, block_bytes, is_inplace);
  inner.is_crowded = of_.is_crowded;
  inner.size = static_cast<std::uint32_t>(near_.size());
  inner.rank = index_of(near_, of_.rank);
  inner.root = index_of(near_, leaders_[node_]);
  return inner;
}

void two_levels::within(phase now, operation which, std::uint64_t block_bytes, bool is_inplace,
                        const phases::memory& where) {
  const shape inner = shape_within(which, block_bytes, is_inplace);
  phases_.add(now, choose(inner, {}, {}).how->make, inner, near_, where);
}

void two_levels::signal(phase now, algorithm_function which) {
  phases_.add(now, which, shape_within(operation::barrier, 0, false), near_, {});
}

void two_levels::between(operation which, std::uint64_t block_bytes, bool is_inplace, const phases::memory& where,
                         const block_list& blocks) {
  WEFT_ASSERT_CHECKED(is_leader());
  shape inner = inner_shape(of_, which, block_bytes, is_inplace);
  inner.size = static_cast<std::uint32_t>(leaders_.size());
  inner.rank = node_;
  inner.root = root_node_;
  inner.out_blocks = blocks;
  phases_.add(phase::between_nodes, choose(inner, {}, {}).how->make, inner, leaders_, where);
}

}  // namespace weft::coll
