// SPDX-License-Identifier: BSD-3-Clause
// The subcommands of weft-perf; each prints its results.
#pragma once

#include "weft-perf/options.hpp"

namespace weft::perf {

/// latency, rate, bandwidth, put and ring: points with Weft alone, as ranks of a job.
void run_measurements(const options& chosen);

/// The cost of an idle wait, and the time of a wake-up, as two ranks of a job.
void run_wait(const options& chosen);

/// How long messages wait while threads alternate between tasks and progress, as two ranks of a job.
void run_attentiveness(const options& chosen);

/// How soon progress notices that tasks are over, for which hooks look. Alone.
void run_hooks(const options& chosen);

/// The times of a switch and of a signal of fibers, alone; messages between fibers, as two ranks of a job.
void run_fibers(const options& chosen);

/// One round of each point that is named, for `compare`: `sample INDEX VALUE BEFORE AFTER SHARE limit=NS PATHS` a
/// line.
void run_points(const options& chosen);

/// The limits of the machine, without Weft.
void run_limits(const options& chosen);

/// Reductions of each type and operation beside vectorized loops. Alone.
void run_reductions(const options& chosen);

/// The library's parts, and tables and queues of other libraries.
void run_resources(const options& chosen);

/// Collectives of Weft against those of every MPI that is found.
void run_collectives(const options& chosen);

/// Weft against every peer that is found.
void run_compare(const options& chosen);

}  // namespace weft::perf
