// SPDX-License-Identifier: BSD-3-Clause
// The algorithms, each in the file with its name.
#pragma once

#include "coll/shape.hpp"

namespace weft::coll {

class schedule;

void dissemination_barrier(schedule& out, const shape& of);
void linear_barrier(schedule& out, const shape& of);
void tree_barrier(schedule& out, const shape& of);
// Its halves.
void tree_signals_up(schedule& out, const shape& of);
void tree_signals_down(schedule& out, const shape& of);
void two_level_barrier(schedule& out, const shape& of);

void linear_broadcast(schedule& out, const shape& of);
void binomial_broadcast(schedule& out, const shape& of);
void knomial_broadcast(schedule& out, const shape& of);
void scatter_allgather_broadcast(schedule& out, const shape& of);
bool can_scatter_allgather_broadcast(const shape& of);
void chain_broadcast(schedule& out, const shape& of);
void two_level_broadcast(schedule& out, const shape& of);

void linear_reduce(schedule& out, const shape& of);
void binomial_reduce(schedule& out, const shape& of);
void rabenseifner_reduce(schedule& out, const shape& of);
void chain_reduce(schedule& out, const shape& of);
bool can_chain_reduce(const shape& of);
void two_level_reduce(schedule& out, const shape& of);

void linear_allreduce(schedule& out, const shape& of);
void recursive_doubling_allreduce(schedule& out, const shape& of);
void rabenseifner_allreduce(schedule& out, const shape& of);
void ring_allreduce(schedule& out, const shape& of);
bool can_ring_allreduce(const shape& of);
void two_level_allreduce(schedule& out, const shape& of);

void pairwise_reduce_scatter(schedule& out, const shape& of);
void ring_reduce_scatter(schedule& out, const shape& of);
bool can_ring_reduce_scatter(const shape& of);
void recursive_halving_reduce_scatter(schedule& out, const shape& of);

void linear_gather(schedule& out, const shape& of);
void binomial_gather(schedule& out, const shape& of);
void linear_scatter(schedule& out, const shape& of);
void binomial_scatter(schedule& out, const shape& of);
void ring_allgather(schedule& out, const shape& of);
bool can_ring_allgather(const shape& of);
void recursive_doubling_allgather(schedule& out, const shape& of);
bool can_recursive_doubling_allgather(const shape& of);
void bruck_allgather(schedule& out, const shape& of);
void two_level_allgather(schedule& out, const shape& of);
bool can_two_level_allgather(const shape& of);
void linear_alltoall(schedule& out, const shape& of);
void pairwise_alltoall(schedule& out, const shape& of);
void bruck_alltoall(schedule& out, const shape& of);
void linear_scan(schedule& out, const shape& of);
void recursive_doubling_scan(schedule& out, const shape& of);
void linear_exscan(schedule& out, const shape& of);
void recursive_doubling_exscan(schedule& out, const shape& of);

}  // namespace weft::coll
