// SPDX-License-Identifier: BSD-3-Clause
// The graphs of the NAS benchmark DT: nodes that make arrays, combine the arrays of others, or add them up, and edges
// by which the arrays travel.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft_dt {

/// Sources feed one sink; one source feeds sinks; or as many sinks as sources, by layers that exchange.
enum class graph_kind : std::uint8_t { black_hole, white_hole, shuffle };
enum class graph_class : std::uint8_t { s, w, a, b };

/// Of a class.
struct graph_size {
  std::uint32_t samples;    ///< of an array, about; a comparator's result has so many, or those of its longest input
  std::uint32_t deviation;  ///< a source's samples differ from `samples` by at most so many
  std::uint32_t sources;    ///< of black hole and shuffle, and sinks of white hole and shuffle
};
[[nodiscard]] graph_size size_of(graph_class size_class) noexcept;

struct edge {
  std::uint32_t from;
  std::uint32_t to;
};

/// A source has no edge in, a sink none out, a comparator has both.
struct node {
  std::vector<std::uint32_t> inputs;   ///< edges, in the order in which the node receives
  std::vector<std::uint32_t> outputs;  ///< edges, in the order in which the node sends
  std::uint32_t position = 0;          ///< in its layer
  std::uint32_t width = 0;             ///< nodes of its layer
};

class graph {
 public:
  graph(graph_kind kind, graph_class size_class);

  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::span<const edge> edges() const noexcept { return edges_; }

  /// The rank of a node: each layer is dealt out in blocks, so that neighbours in a layer share a rank.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t id, std::uint32_t ranks) const noexcept {
    return static_cast<std::uint32_t>(std::uint64_t{nodes_[id].position} * ranks / nodes_[id].width);
  }

 private:
  void add_layer(std::uint32_t width);
  void add_edge(std::uint32_t from, std::uint32_t to);
  void make_tree(std::uint32_t sources);
  void mirror();
  void make_butterfly(std::uint32_t width);

  std::vector<node> nodes_;
  std::vector<edge> edges_;
};

/// The checksum that the benchmark publishes.
[[nodiscard]] std::int64_t checksum_of(graph_kind kind, graph_class size_class) noexcept;

}  // namespace weft_dt
