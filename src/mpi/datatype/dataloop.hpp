// SPDX-License-Identifier: BSD-3-Clause
// The dataloop of a datatype (Ross, Miller, Gropp 2003): loops over blocks of bytes, in the order of the type map. It
// is made once, with the type; pack and unpack run it from any byte on (pack.hpp).
//
// Blocks that lie one behind the other are one block, and regular lists are loops: a vector of doubles is one node,
// however it was constructed. Dataloops share nodes. Each loop, and each list that is not copied into its parent, at
// least doubles the bytes, so a dataloop is nested at most about 130 deep, however deep the type is.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "mpi/datatype/basic.hpp"

namespace weft::mpi {

struct node;
using node_ref = std::shared_ptr<const node>;

/// Bytes at a displacement: one block, or the blocks of a node. 0 bytes: nothing.
struct part {
  std::int64_t displacement = 0;
  std::int64_t bytes = 0;          // counts data, not gaps
  std::int64_t elements = 0;       // counts basic types; any number where several were merged
  const basic* element = nullptr;  // the basic type of all data; null: there are several
  node_ref blocks{};               // null: one block
};

/// A displacement from another one. Those of nodes may wrap around: the sums that lead to a block do not.
[[nodiscard]] constexpr std::int64_t moved(std::int64_t displacement, std::int64_t distance) noexcept {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(displacement) + static_cast<std::uint64_t>(distance));
}

/// Displacements in a node are from the node's own.
struct node {
  enum class kind : std::uint8_t {
    strided,    // `count` blocks of `block_bytes`, `stride` apart
    scattered,  // blocks of `block_bytes`, at `displacements`
    various,    // blocks at `displacements`, which end at byte `ends[i]` of the data
    loop,       // `count` times `parts[0]`, `stride` apart
    list,       // `parts`, which end at byte `ends[i]` of the data
  };
  kind is = kind::strided;
  std::int64_t block_bytes = 0;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  std::vector<std::int64_t> displacements{};
  std::vector<std::int64_t> ends{};
  std::vector<part> parts{};
};

/// `count` times `data`, `stride` apart. The caller has checked that sizes and displacements fit in 64 bits.
/// **Errors**: std::bad_alloc.
[[nodiscard]] part repeat(const part& data, std::int64_t count, std::int64_t stride);

/// One behind the other. `keeps_elements`: blocks of different basic types stay apart. **Errors**: std::bad_alloc.
[[nodiscard]] part join(std::vector<part> parts, bool keeps_elements);

/// Blocks, loops and lists that the part has, without the repetitions: for tests and limits.
[[nodiscard]] std::size_t entry_count(const part& data) noexcept;

/// Calls `visit(displacement, bytes, element)` for each block, in their order, from `origin` on.
template <class Visit>
void each_block(const part& data, std::int64_t origin, const Visit& visit) {
  origin = moved(origin, data.displacement);
  if (data.bytes == 0) return;
  if (data.blocks == nullptr) return static_cast<void>(visit(origin, data.bytes, data.element));
  const node& node = *data.blocks;
  switch (node.is) {
    case node::kind::strided:
      for (std::int64_t i = 0; i < node.count; ++i) visit(origin + i * node.stride, node.block_bytes, data.element);
      break;
    case node::kind::scattered:
      for (const std::int64_t each : node.displacements) visit(moved(origin, each), node.block_bytes, data.element);
      break;
    case node::kind::various:
      for (std::size_t i = 0; i < node.ends.size(); ++i) {
        visit(moved(origin, node.displacements[i]), node.ends[i] - (i == 0 ? 0 : node.ends[i - 1]), data.element);
      }
      break;
    case node::kind::loop:
      for (std::int64_t i = 0; i < node.count; ++i) each_block(node.parts[0], origin + i * node.stride, visit);
      break;
    case node::kind::list:
      for (const part& each : node.parts) each_block(each, origin, visit);
      break;
  }
}

}  // namespace weft::mpi
