// SPDX-License-Identifier: BSD-3-Clause
#include "uts/tree.hpp"

// The successors of the functions below look their algorithm up by name at each call, which takes longer than the hash.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/sha.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace weft_uts {
namespace {

constexpr std::uint32_t children_max = 100;

void put_big_endian(std::uint8_t* to, std::uint32_t value) noexcept {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

// From 0, and below 1.
double random_of(const node& node) noexcept {
  std::uint32_t value = 0;
  for (std::size_t i = 16; i < 20; ++i) value = value << 8 | node.state[i];
  return static_cast<double>(value & 0x7fff'ffff) / 2147483648.0;
}

void hash(const std::uint8_t* text, std::size_t bytes, std::array<std::uint8_t, 20>& out) noexcept {
  SHA_CTX state;
  SHA1_Init(&state);
  SHA1_Update(&state, text, bytes);
  SHA1_Final(out.data(), &state);
}

using type = tree_type;
using shape = tree_shape;

// Of a node of a geometric tree at this depth; not above 0, or no number, where it has none.
double expected_children(const tree_options& tree, double depth) noexcept {
  const double depth_max = tree.depth;
  const double expected = tree.root_children;
  if (depth == 0) return expected;
  switch (tree.shape) {
    case shape::fixed: return depth < depth_max ? expected : 0;
    case shape::linear: return expected * (1 - depth / depth_max);
    case shape::cyclic:
      return depth > 5 * depth_max ? 0 : std::pow(expected, std::sin(2 * 3.141592653589793 * depth / depth_max));
    case shape::exponential: return expected * std::pow(depth, -std::log(expected) / std::log(depth_max));
  }
  return 0;
}

}  // namespace

tree::tree(const tree_options& options) : options_{options} {}

node tree::root() const noexcept {
  std::array<std::uint8_t, 20> seed{};
  put_big_endian(&seed[16], options_.seed);
  node out{};
  hash(seed.data(), seed.size(), out.state);
  return out;
}

node tree::child_of(const node& parent, std::uint32_t index) noexcept {
  std::array<std::uint8_t, 24> text;
  std::memcpy(text.data(), parent.state.data(), parent.state.size());
  put_big_endian(&text[20], index);
  node out;
  hash(text.data(), text.size(), out.state);
  out.depth = parent.depth + 1;
  return out;
}

std::uint32_t tree::children_of(const node& parent) const noexcept {
  switch (options_.type) {
    case type::binomial:
      if (parent.depth == 0) return static_cast<std::uint32_t>(options_.root_children);
      return binomial_children(parent);
    case type::geometric: return geometric_children(parent);
    case type::hybrid:
      return parent.depth < options_.shift * options_.depth ? geometric_children(parent) : binomial_children(parent);
  }
  return 0;
}

std::uint32_t tree::binomial_children(const node& parent) const noexcept {
  return random_of(parent) < options_.branching ? options_.children : 0;
}

std::uint32_t tree::geometric_children(const node& parent) const noexcept {
  const double expected = expected_children(options_, parent.depth);
  if (!(expected > 0)) return 0;
  if (std::isinf(expected)) return children_max;
  const double p = 1 / (1 + expected);
  const double count = std::floor(std::log(1 - random_of(parent)) / std::log(1 - p));
  return static_cast<std::uint32_t>(std::clamp(count, 0.0, double{children_max}));
}

namespace {

// Of the part of a geometric tree above `depth_end`, and the nodes at that depth.
struct expectation {
  double nodes = 0;
  double last = 1;
};

expectation expect_geometric(const tree_options& tree, double depth_end) noexcept {
  // Beyond this no user waits for the end; below the other one, a level adds nothing.
  constexpr double nodes_max = 1e18;
  constexpr double level_min = 1e-6;
  constexpr double depth_max = 1e7;  // beyond 5 x 2^20, where the deepest cyclic tree ends
  expectation out;
  for (double depth = 0; depth < depth_end && out.nodes < nodes_max && out.last > level_min; ++depth) {
    if (depth > depth_max) return {std::numeric_limits<double>::infinity(), out.last};
    out.nodes += out.last;
    const double expected = expected_children(tree, depth);
    out.last *= expected > 0 ? std::min(expected, double{children_max}) : 0;
  }
  return out;
}

}  // namespace

double expected_nodes(const tree_options& tree) noexcept {
  constexpr double endless = std::numeric_limits<double>::infinity();
  const double growth = tree.branching * tree.children;
  const double below = growth < 1 ? 1 / (1 - growth) : endless;  // a node of a binomial tree, with all below it
  const auto times = [](double nodes, double each) { return nodes > 0 ? nodes * each : 0; };
  switch (tree.type) {
    case type::binomial: return 1 + times(std::floor(tree.root_children), below);
    case type::geometric: {
      // Where b0 is above 1, branching falls with the depth, below 1 after the given depth; where it isn't, it rises.
      const bool falls = tree.shape != shape::exponential || tree.root_children > 1 || tree.root_children == 0;
      return falls ? expect_geometric(tree, endless).nodes : endless;
    }
    case type::hybrid: {
      const expectation above = expect_geometric(tree, std::ceil(tree.shift * tree.depth));
      return above.nodes + times(above.last, below);
    }
  }
  return endless;
}

const known_tree* find_known(const tree_options& options) noexcept {
  static const known_tree all[] = {
      {"default", {}, {1732, 1050, 6}},
      {"T1", {.shape = shape::fixed, .root_children = 4, .seed = 19, .depth = 10}, {4130071, 3305118, 10}},
      {"T2", {.shape = shape::cyclic, .root_children = 6, .seed = 502, .depth = 16}, {4117769, 2342762, 81}},
      {"T3",
       {.type = type::binomial, .root_children = 2000, .seed = 42, .branching = 0.124875, .children = 8},
       {4112897, 3599034, 1572}},
      {"T3L",
       {.type = type::binomial, .root_children = 2000, .seed = 7, .branching = 0.200014, .children = 5},
       {111345631, 89076904, 17844}},
  };
  for (const known_tree& each : all) {
    if (each.options == options) return &each;
  }
  return nullptr;
}

}  // namespace weft_uts
