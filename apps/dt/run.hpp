// SPDX-License-Identifier: BSD-3-Clause
// A run of a graph by all ranks of a job: a fiber for each node, blocking sends and receives along the edges
// (dang2016, 4.3.2).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <weft/weft.hpp>

#include "dt/graph.hpp"

namespace weft_dt {

struct run_options {
  graph_kind kind = graph_kind::black_hole;
  graph_class size = graph_class::s;
  std::uint32_t workers = 1;  ///< threads of each rank
  bool is_alone = false;      ///< the arithmetic of the nodes, without messages
};

/// At each rank.
struct run_result {
  double seconds = 0;         ///< of the rank that took longest
  std::int64_t checksum = 0;  ///< 0 without messages
  std::uint64_t bytes = 0;    ///< of all messages along edges
  std::uint64_t bytes_between_ranks = 0;
};

/// Called by workers, one at a time, after each node of this rank.
using tell_progress = std::function<void(std::uint32_t nodes_done, std::uint32_t nodes_of_rank)>;

/// Collective. The process ends with a message if a node fails, as other nodes would wait for its arrays.
[[nodiscard]] run_result run_graph(weft::runtime& rt, const run_options& options, const tell_progress& tell);

/// Collective. The lowest rank with other arguments than rank 0, at each rank. `exit_code`: of the command line.
[[nodiscard]] std::optional<std::uint32_t> find_other_arguments(weft::runtime& rt, const run_options& options,
                                                                int exit_code);

}  // namespace weft_dt
