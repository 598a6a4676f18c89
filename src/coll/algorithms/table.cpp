// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms.
#include <algorithm>
#include <array>

#include "base/collective_names.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/table.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

constexpr std::array table{
    algorithm{"dissemination", operation::barrier, dissemination_barrier},
    algorithm{"linear", operation::barrier, linear_barrier},
    algorithm{"tree", operation::barrier, tree_barrier},
    algorithm{"two-level", operation::barrier, two_level_barrier, has_two_levels},
    algorithm{"linear", operation::broadcast, linear_broadcast},
    algorithm{"binomial", operation::broadcast, binomial_broadcast},
    algorithm{"k-nomial", operation::broadcast, knomial_broadcast},
    algorithm{"scatter-allgather", operation::broadcast, scatter_allgather_broadcast, can_scatter_allgather_broadcast},
    algorithm{"chain", operation::broadcast, chain_broadcast},
    algorithm{"two-level", operation::broadcast, two_level_broadcast, has_two_levels},
    algorithm{"linear", operation::reduce, linear_reduce},
    algorithm{"binomial", operation::reduce, binomial_reduce},
    algorithm{"rabenseifner", operation::reduce, rabenseifner_reduce},
    algorithm{"chain", operation::reduce, chain_reduce, can_chain_reduce},
    algorithm{"two-level", operation::reduce, two_level_reduce, can_reduce_on_two_levels},
    algorithm{"linear", operation::allreduce, linear_allreduce},
    algorithm{"recursive-doubling", operation::allreduce, recursive_doubling_allreduce},
    algorithm{"rabenseifner", operation::allreduce, rabenseifner_allreduce},
    algorithm{"ring", operation::allreduce, ring_allreduce, can_ring_allreduce},
    algorithm{"two-level", operation::allreduce, two_level_allreduce, can_reduce_on_two_levels},
    algorithm{"pairwise", operation::reduce_scatter, pairwise_reduce_scatter},
    algorithm{"ring", operation::reduce_scatter, ring_reduce_scatter, can_ring_reduce_scatter},
    algorithm{"recursive-halving", operation::reduce_scatter, recursive_halving_reduce_scatter},
    algorithm{"linear", operation::gather, linear_gather},
    algorithm{"binomial", operation::gather, binomial_gather, has_equal_blocks},
    algorithm{"linear", operation::scatter, linear_scatter},
    algorithm{"binomial", operation::scatter, binomial_scatter, has_equal_blocks},
    algorithm{"ring", operation::allgather, ring_allgather, can_ring_allgather},
    algorithm{"recursive-doubling", operation::allgather, recursive_doubling_allgather,
              can_recursive_doubling_allgather},
    algorithm{"bruck", operation::allgather, bruck_allgather},
    algorithm{"two-level", operation::allgather, two_level_allgather, can_two_level_allgather},
    algorithm{"linear", operation::alltoall, linear_alltoall},
    algorithm{"pairwise", operation::alltoall, pairwise_alltoall},
    algorithm{"bruck", operation::alltoall, bruck_alltoall, has_equal_blocks},
    algorithm{"linear", operation::scan, linear_scan},
    algorithm{"recursive-doubling", operation::scan, recursive_doubling_scan},
    algorithm{"linear", operation::exscan, linear_exscan},
    algorithm{"recursive-doubling", operation::exscan, recursive_doubling_exscan},
};

constexpr std::string_view constant_name_of(operation which) noexcept {
  switch (which) {
    case operation::barrier: return "barrier";
    case operation::broadcast: return "broadcast";
    case operation::reduce: return "reduce";
    case operation::allreduce: return "allreduce";
    case operation::gather: return "gather";
    case operation::scatter: return "scatter";
    case operation::allgather: return "allgather";
    case operation::alltoall: return "alltoall";
    case operation::reduce_scatter: return "reduce_scatter";
    case operation::scan: return "scan";
    case operation::exscan: return "exscan";
  }
  return "unknown";
}

static_assert(std::ranges::equal(table, base::collective_names,
                                 [](const algorithm& row, const base::collective_name& name) {
                                   return constant_name_of(row.operation) == name.operation &&
                                          row.name == name.algorithm;
                                 }),
              "WEFT_COLL knows the algorithms by src/base/collective_names.hpp");

}  // namespace

std::span<const algorithm> algorithms() noexcept { return table; }

}  // namespace weft::coll

std::string_view weft::name_of(collective_operation which) noexcept { return coll::constant_name_of(which); }
