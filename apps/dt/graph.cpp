// SPDX-License-Identifier: BSD-3-Clause
#include "dt/graph.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace weft_dt {
namespace {

constexpr std::uint32_t tree_inputs_max = 4;

}  // namespace

graph_size size_of(graph_class size_class) noexcept {
  const auto step = static_cast<unsigned>(size_class);
  return {1728U << (3 * step), 128U << step, 4U << step};
}

graph::graph(graph_kind kind, graph_class size_class) {
  const std::uint32_t sources = size_of(size_class).sources;
  if (kind == graph_kind::shuffle) {
    make_butterfly(sources);
  } else {
    make_tree(sources);
    if (kind == graph_kind::white_hole) mirror();
  }
}

void graph::add_layer(std::uint32_t width) {
  for (std::uint32_t position = 0; position < width; ++position) {
    nodes_.push_back({.inputs = {}, .outputs = {}, .position = position, .width = width});
  }
}

void graph::add_edge(std::uint32_t from, std::uint32_t to) {
  const auto number = static_cast<std::uint32_t>(edges_.size());
  edges_.push_back({from, to});
  nodes_[from].outputs.push_back(number);
  nodes_[to].inputs.push_back(number);
}

// Layers of a quarter of the nodes each, down to the sink.
void graph::make_tree(std::uint32_t sources) {
  add_layer(sources);
  std::uint32_t first = 0;
  for (std::uint32_t width = sources; width > 1;) {
    const std::uint32_t next_first = first + width;
    const std::uint32_t next_width = (width + tree_inputs_max - 1) / tree_inputs_max;
    add_layer(next_width);
    for (std::uint32_t i = 0; i < width; ++i) add_edge(first + i, next_first + i / tree_inputs_max);
    first = next_first;
    width = next_width;
  }
}

// The last node becomes the first, and each edge leads the other way.
void graph::mirror() {
  const auto last = static_cast<std::uint32_t>(nodes_.size() - 1);
  std::ranges::reverse(nodes_);
  for (node& each : nodes_) {
    std::swap(each.inputs, each.outputs);
    each.position = each.width - 1 - each.position;
  }
  for (edge& each : edges_) each = {last - each.to, last - each.from};
}

// Node i of layer j + 1 gets from the nodes of layer j that have its number, but for bit j, which is 0 and 1.
void graph::make_butterfly(std::uint32_t width) {
  add_layer(width);
  std::uint32_t first = 0;
  for (std::uint32_t bit = 1; bit < width; bit *= 2) {
    add_layer(width);
    for (std::uint32_t i = 0; i < width; ++i) {
      add_edge(first + (i & ~bit), first + width + i);
      add_edge(first + (i | bit), first + width + i);
    }
    first += width;
  }
}

std::int64_t checksum_of(graph_kind kind, graph_class size_class) noexcept {
  static constexpr std::array<std::array<std::int64_t, 4>, 3> known{{
      {30892725, 4102461, 17809491, 4317114},
      {67349758, 204280762, 1289925229, 7877279917},
      {58875767, 186944764, 610856482, 1836863082},
  }};
  return known[static_cast<std::size_t>(kind)][static_cast<std::size_t>(size_class)];
}

}  // namespace weft_dt
