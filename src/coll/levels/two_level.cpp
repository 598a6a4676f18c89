// SPDX-License-Identifier: BSD-3-Clause
#include "coll/levels/two_level.hpp"

#include <algorithm>

#include "base/assertion.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/args/node_map.hpp"
#include "coll/choose/choose.hpp"

namespace weft::coll {

namespace {

// Arguments of the same kind, without the lists of the whole group.
collective_args inner_args(const collective_args& args, operation which, std::uint64_t block_bytes, bool is_inplace) {
  return {.operation = which,
          .block_bytes = block_bytes,
          .element_bytes = args.element_bytes,
          .segment_bytes = args.segment_bytes,
          .is_commutative = args.is_commutative,
          .is_inplace = is_inplace};
}

std::uint32_t index_of(std::span<const std::uint32_t> members, std::uint32_t rank) {
  return static_cast<std::uint32_t>(std::ranges::find(members, rank) - members.begin());
}

}  // namespace

bool has_two_levels(const collective_args& args) {
  return args.nodes != nullptr && args.nodes->has_two_levels() && args.nodes->members_max() <= phases::members_max;
}

bool can_reduce_on_two_levels(const collective_args& args) {
  return has_two_levels(args) && (args.is_commutative || args.nodes->are_in_order());
}

two_levels::two_levels(schedule& out, const collective_args& args, std::uint32_t root)
    : args_{args},
      phases_{out},
      near_{args.nodes->members_of(args.nodes->node_of(args.rank))},
      node_{args.nodes->node_of(args.rank)},
      root_node_{args.nodes->node_of(root)} {
  for (std::uint32_t node = 0; node < args.nodes->nodes(); ++node)
    leaders_.push_back(node == root_node_ ? root : args.nodes->members_of(node).front());
}

collective_args two_levels::args_within(operation which, std::uint64_t block_bytes, bool is_inplace) const {
  collective_args inner = inner_args(args_, which, block_bytes, is_inplace);
  inner.is_oversubscribed = args_.is_oversubscribed;
  inner.size = static_cast<std::uint32_t>(near_.size());
  inner.rank = index_of(near_, args_.rank);
  inner.root = index_of(near_, leaders_[node_]);
  return inner;
}

void two_levels::within(phase now, operation which, std::uint64_t block_bytes, bool is_inplace,
                        const phases::buffers& buffers) {
  const collective_args inner = args_within(which, block_bytes, is_inplace);
  phases_.add(now, choose(inner, {}, {}).algorithm->function, inner, near_, buffers);
}

void two_levels::signal(phase now, algorithm_function which) {
  phases_.add(now, which, args_within(operation::barrier, 0, false), near_, {});
}

void two_levels::between(operation which, std::uint64_t block_bytes, bool is_inplace, const phases::buffers& buffers,
                         const block_list& blocks) {
  WEFT_ASSERT_CHECKED(is_leader());
  collective_args inner = inner_args(args_, which, block_bytes, is_inplace);
  inner.size = static_cast<std::uint32_t>(leaders_.size());
  inner.rank = node_;
  inner.root = root_node_;
  inner.out_blocks = blocks;
  phases_.add(phase::between_nodes, choose(inner, {}, {}).algorithm->function, inner, leaders_, buffers);
}

}  // namespace weft::coll
