// SPDX-License-Identifier: BSD-3-Clause
// Messages whose bytes lie in blocks, a stride apart, beside the buffers that the other steps of a measurement use.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "weft-perf/limits/block_loops.hpp"
#include "weft-perf/report/point.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

/// One memory of blocks for all buffers, as they share one in a bandwidth; where bytes are compared, one for each.
class block_buffers {
 public:
  explicit block_buffers(const point& measured)
      : blocks_{measured.blocks},
        is_verified_{measured.verify},
        loops_{.block_bytes = blocks_.block_bytes, .stride_bytes = blocks_.stride_bytes},
        layout_{loops_} {}

  /// Whether a message of this size is sent from blocks, or received into them.
  [[nodiscard]] bool sends(std::size_t bytes) const noexcept {
    return has(bytes) && blocks_.packed_ends != strided::ends::receiver;
  }
  [[nodiscard]] bool receives(std::size_t bytes) const noexcept {
    return has(bytes) && blocks_.packed_ends != strided::ends::sender;
  }

  /// What to send instead of `bytes`, with the bytes that the receiver compares.
  [[nodiscard]] const_buffer_ref from(std::span<std::byte> bytes) {
    std::byte* const memory = memory_of(bytes);
    loops_.unpack(memory, 0, bytes.data(), is_verified_ ? bytes.size() : 1);
    if (!blocks_.by_loops) return {memory, bytes.size(), layout_};
    loops_.pack(memory, 0, bytes.data(), bytes.size());
    return bytes;
  }
  /// What to receive into instead of `bytes`.
  [[nodiscard]] buffer_ref into(std::span<std::byte> bytes) {
    if (!blocks_.by_loops) return {memory_of(bytes), bytes.size(), layout_};
    return bytes;
  }
  /// A message has arrived: its bytes that are compared are then in `bytes`, too.
  void take(std::span<std::byte> bytes) {
    if (!receives(bytes.size())) return;
    std::byte* const memory = memory_of(bytes);
    if (blocks_.by_loops) loops_.unpack(memory, 0, bytes.data(), bytes.size());
    loops_.pack(memory, 0, bytes.data(), is_verified_ ? bytes.size() : 1);
  }

 private:
  [[nodiscard]] bool has(std::size_t bytes) const noexcept {
    return blocks_.block_bytes != 0 && bytes > blocks_.block_bytes;
  }
  [[nodiscard]] std::byte* memory_of(std::span<std::byte> bytes) {
    std::vector<std::byte>& memory = made_[is_verified_ ? bytes.data() : nullptr];
    if (memory.empty()) memory.resize(loops_.memory_bytes(bytes.size()));
    return memory.data();
  }

  strided blocks_;
  bool is_verified_;
  block_loops loops_;
  weft::layout layout_;
  std::map<const std::byte*, std::vector<std::byte>> made_;
};

}  // namespace weft::perf
