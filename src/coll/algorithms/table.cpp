// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms: each with its operation, its name, its function and its restriction; then the rules by which
// they are chosen.
//
// A new algorithm is a file and a row, and rules if it is to be chosen unasked. `tools/tidy.py --fix` makes its
// declaration (algorithms.hpp) and its name for WEFT_COLL (base/collective_names.hpp) of the row, and tidy names what
// is missing on the page.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/collective_names.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/table.hpp"
#include "coll/schedule/blocks.hpp"

namespace weft::coll {

namespace {

constexpr algorithm table[]{
    {operation::barrier, "dissemination", dissemination_barrier},
    {operation::barrier, "linear", linear_barrier},
    {operation::barrier, "tree", tree_barrier},
    {operation::barrier, "two-level", two_level_barrier, has_two_levels},
    {operation::broadcast, "linear", linear_broadcast},
    {operation::broadcast, "binomial", binomial_broadcast},
    {operation::broadcast, "k-nomial", k_nomial_broadcast},
    {operation::broadcast, "scatter-allgather", scatter_allgather_broadcast, can_scatter_allgather_broadcast},
    {operation::broadcast, "chain", chain_broadcast},
    {operation::broadcast, "two-level", two_level_broadcast, has_two_levels},
    {operation::reduce, "linear", linear_reduce},
    {operation::reduce, "binomial", binomial_reduce},
    {operation::reduce, "rabenseifner", rabenseifner_reduce},
    {operation::reduce, "chain", chain_reduce, can_chain_reduce},
    {operation::reduce, "two-level", two_level_reduce, can_reduce_on_two_levels},
    {operation::allreduce, "linear", linear_allreduce},
    {operation::allreduce, "recursive-doubling", recursive_doubling_allreduce},
    {operation::allreduce, "rabenseifner", rabenseifner_allreduce},
    {operation::allreduce, "ring", ring_allreduce, can_ring_allreduce},
    {operation::allreduce, "two-level", two_level_allreduce, can_reduce_on_two_levels},
    {operation::reduce_scatter, "pairwise", pairwise_reduce_scatter},
    {operation::reduce_scatter, "ring", ring_reduce_scatter, can_ring_reduce_scatter},
    {operation::reduce_scatter, "recursive-halving", recursive_halving_reduce_scatter},
    {operation::gather, "linear", linear_gather},
    {operation::gather, "binomial", binomial_gather, has_equal_blocks},
    {operation::scatter, "linear", linear_scatter},
    {operation::scatter, "binomial", binomial_scatter, has_equal_blocks},
    {operation::allgather, "ring", ring_allgather, can_ring_allgather},
    {operation::allgather, "recursive-doubling", recursive_doubling_allgather, can_recursive_doubling_allgather},
    {operation::allgather, "bruck", bruck_allgather},
    {operation::allgather, "two-level", two_level_allgather, can_two_level_allgather},
    {operation::alltoall, "linear", linear_alltoall},
    {operation::alltoall, "pairwise", pairwise_alltoall},
    {operation::alltoall, "bruck", bruck_alltoall, has_equal_blocks},
    {operation::scan, "linear", linear_scan},
    {operation::scan, "recursive-doubling", recursive_doubling_scan},
    {operation::exscan, "linear", linear_exscan},
    {operation::exscan, "recursive-doubling", recursive_doubling_exscan},
};

constexpr std::uint64_t kib = 1024;

// The first one that fits chooses, of those whose algorithm can do the collective.
constexpr rule rules_in_order[]{
    // Groups on several nodes; the other rules choose for each phase.
    {.operation = operation::barrier, .algorithm = "two-level"},
    {.operation = operation::broadcast, .algorithm = "two-level"},
    {.operation = operation::reduce, .algorithm = "two-level"},
    {.operation = operation::allreduce, .algorithm = "two-level"},
    {.operation = operation::allgather, .algorithm = "two-level"},
    // Each wait costs a turn of all ranks of a core where ranks share cores: an algorithm in which a rank waits once is
    // best.
    {.operation = operation::barrier, .algorithm = "linear", .is_oversubscribed = true},
    {.operation = operation::broadcast, .algorithm = "linear", .block_bytes_max = 4 * kib, .is_oversubscribed = true},
    {.operation = operation::reduce, .algorithm = "linear", .block_bytes_max = 4 * kib, .is_oversubscribed = true},
    {.operation = operation::allreduce, .algorithm = "linear", .block_bytes_max = 4 * kib, .is_oversubscribed = true},
    // Measurements of 4 ranks on two cores: with few members this holds as long as a core that works alone at the root
    // loses less than the other members' waits.
    {.operation = operation::broadcast,
     .algorithm = "binomial",
     .block_bytes_max = 1024 * kib,
     .is_oversubscribed = true,
     .members_max = 8},
    {.operation = operation::reduce,
     .algorithm = "linear",
     .block_bytes_max = 256 * kib,
     .is_oversubscribed = true,
     .members_max = 8},
    {.operation = operation::reduce,
     .algorithm = "binomial",
     .block_bytes_max = 1024 * kib,
     .is_oversubscribed = true,
     .members_max = 8},
    {.operation = operation::allreduce,
     .algorithm = "linear",
     .block_bytes_max = 256 * kib,
     .is_oversubscribed = true,
     .members_max = 8},
    {.operation = operation::reduce_scatter,
     .algorithm = "pairwise",
     .block_bytes_max = kib,
     .is_oversubscribed = true,
     .members_max = 8},
    {.operation = operation::alltoall, .algorithm = "linear", .is_oversubscribed = true, .members_max = 8},
    // Few rounds for short messages, few bytes for long ones, by the formulas at the heads of the algorithms.
    {.operation = operation::barrier, .algorithm = "dissemination"},
    {.operation = operation::broadcast, .algorithm = "binomial", .block_bytes_max = 64 * kib},
    {.operation = operation::broadcast, .algorithm = "scatter-allgather", .members_min = 4},
    {.operation = operation::broadcast, .algorithm = "binomial"},
    {.operation = operation::reduce, .algorithm = "binomial", .block_bytes_max = 32 * kib},
    {.operation = operation::reduce, .algorithm = "rabenseifner", .members_min = 4},
    {.operation = operation::reduce, .algorithm = "binomial"},
    {.operation = operation::allreduce, .algorithm = "recursive-doubling", .block_bytes_max = 16 * kib},
    {.operation = operation::allreduce, .algorithm = "rabenseifner"},
    {.operation = operation::reduce_scatter, .algorithm = "recursive-halving", .block_bytes_max = 4 * kib},
    {.operation = operation::reduce_scatter, .algorithm = "pairwise"},
    {.operation = operation::gather, .algorithm = "binomial", .block_bytes_max = kib, .members_min = 4},
    {.operation = operation::gather, .algorithm = "linear"},
    {.operation = operation::scatter, .algorithm = "binomial", .block_bytes_max = kib, .members_min = 4},
    {.operation = operation::scatter, .algorithm = "linear"},
    // The bytes of a ring, in fewer rounds.
    {.operation = operation::allgather, .algorithm = "recursive-doubling", .block_bytes_max = 64 * kib},
    {.operation = operation::allgather, .algorithm = "bruck", .block_bytes_max = 4 * kib},
    {.operation = operation::allgather, .algorithm = "ring"},
    {.operation = operation::allgather, .algorithm = "bruck"},
    {.operation = operation::alltoall, .algorithm = "bruck", .block_bytes_max = 256, .members_min = 16},
    {.operation = operation::alltoall, .algorithm = "linear", .block_bytes_max = 32 * kib},
    {.operation = operation::alltoall, .algorithm = "pairwise"},
    {.operation = operation::scan, .algorithm = "recursive-doubling"},
    {.operation = operation::exscan, .algorithm = "recursive-doubling"},
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
              "tools/tidy.py --fix makes src/base/collective_names.hpp of the table");
static_assert(std::ranges::all_of(rules_in_order,
                                  [](const rule& each) {
                                    return std::ranges::any_of(table, [&](const algorithm& row) {
                                      return row.operation == each.operation && row.name == each.algorithm;
                                    });
                                  }),
              "a rule names an algorithm of its operation");

}  // namespace

std::span<const algorithm> algorithms() noexcept { return table; }

std::span<const rule> rules() noexcept { return rules_in_order; }

}  // namespace weft::coll

std::string_view weft::name_of(collective_operation which) noexcept { return coll::constant_name_of(which); }
