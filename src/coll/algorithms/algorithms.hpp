// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each in the file with its name. `out` gets the steps of one rank.
#pragma once

#include <cstdint>

#include "coll/args/collective_args.hpp"

namespace weft::coll {

class schedule;

/// The members of a group whose ranks share cores, at most, for which the root sends to all others.
inline constexpr std::uint32_t linear_members_max = 64;

/// Whether the group has two levels: several nodes, and several members in one of them.
[[nodiscard]] bool has_two_levels(const collective_args& args);
/// Whether it has, and a reduction can combine the members of each node first.
[[nodiscard]] bool can_reduce_on_two_levels(const collective_args& args);

/// The halves of `tree_barrier`.
void tree_signals_up(schedule& out, const collective_args& args);
void tree_signals_down(schedule& out, const collective_args& args);

// Made of the table by tools/tidy.py --fix:
void dissemination_barrier(schedule& out, const collective_args& args);
void linear_barrier(schedule& out, const collective_args& args);
void tree_barrier(schedule& out, const collective_args& args);
void two_level_barrier(schedule& out, const collective_args& args);

void linear_broadcast(schedule& out, const collective_args& args);
void binomial_broadcast(schedule& out, const collective_args& args);
void k_nomial_broadcast(schedule& out, const collective_args& args);
void scatter_allgather_broadcast(schedule& out, const collective_args& args);
bool can_scatter_allgather_broadcast(const collective_args& args);
void chain_broadcast(schedule& out, const collective_args& args);
void two_level_broadcast(schedule& out, const collective_args& args);

void linear_reduce(schedule& out, const collective_args& args);
void binomial_reduce(schedule& out, const collective_args& args);
void rabenseifner_reduce(schedule& out, const collective_args& args);
void chain_reduce(schedule& out, const collective_args& args);
bool can_chain_reduce(const collective_args& args);
void two_level_reduce(schedule& out, const collective_args& args);

void linear_allreduce(schedule& out, const collective_args& args);
void recursive_doubling_allreduce(schedule& out, const collective_args& args);
void rabenseifner_allreduce(schedule& out, const collective_args& args);
void ring_allreduce(schedule& out, const collective_args& args);
bool can_ring_allreduce(const collective_args& args);
void two_level_allreduce(schedule& out, const collective_args& args);

void pairwise_reduce_scatter(schedule& out, const collective_args& args);
void ring_reduce_scatter(schedule& out, const collective_args& args);
bool can_ring_reduce_scatter(const collective_args& args);
void recursive_halving_reduce_scatter(schedule& out, const collective_args& args);

void linear_gather(schedule& out, const collective_args& args);
void binomial_gather(schedule& out, const collective_args& args);

void linear_scatter(schedule& out, const collective_args& args);
void binomial_scatter(schedule& out, const collective_args& args);

void ring_allgather(schedule& out, const collective_args& args);
bool can_ring_allgather(const collective_args& args);
void recursive_doubling_allgather(schedule& out, const collective_args& args);
bool can_recursive_doubling_allgather(const collective_args& args);
void bruck_allgather(schedule& out, const collective_args& args);
void two_level_allgather(schedule& out, const collective_args& args);
bool can_two_level_allgather(const collective_args& args);

void linear_alltoall(schedule& out, const collective_args& args);
void pairwise_alltoall(schedule& out, const collective_args& args);
void bruck_alltoall(schedule& out, const collective_args& args);

void linear_scan(schedule& out, const collective_args& args);
void recursive_doubling_scan(schedule& out, const collective_args& args);

void linear_exscan(schedule& out, const collective_args& args);
void recursive_doubling_exscan(schedule& out, const collective_args& args);
// End of what is made.

}  // namespace weft::coll
