// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a run, in which each step has its parts: the input, the output and scratch memory.
//
// Input and output may lie in memory of a kind, or have a layout. A message names a part of such a buffer and is copied
// once at each side, as any message of such memory. Reductions and copies pass through pieces of ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/schedule/schedule.hpp"
#include "weft/buffer.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

class step_buffers {
 public:
  /// `steps` outlives this. **Errors**: std::bad_alloc.
  explicit step_buffers(const schedule& steps);

  /// The buffers of the next run. The first ones in other than ordinary memory allocate. **Errors**: std::bad_alloc.
  void use(const const_buffer_ref& input, const buffer_ref& output);

  /// The buffer that a send reads, or a receive writes. **Threads**: any.
  [[nodiscard]] const_buffer_ref read(const step& step) noexcept;
  [[nodiscard]] buffer_ref written(const step& step) noexcept;
  /// Carries out a reduction, or a copy. **Threads**: any. **Errors**: memory_failed; std::bad_alloc.
  void reduce(const step& step, const reduction& reduction) const;
  void copy(const step& step) const;

 private:
  // A buffer, and its memory; null: ordinary.
  struct storage {
    std::byte* address = nullptr;
    const weft::memory* memory = nullptr;
  };
  // A part of a buffer that messages name as an address, with a layout that knows it.
  struct named_part {
    storage buffer;
    std::uint64_t offset = 0;

    [[nodiscard]] bool copy_out(std::uint64_t from, std::byte* to, std::size_t bytes) const noexcept;
    [[nodiscard]] bool copy_in(std::uint64_t to, const std::byte* from, std::size_t bytes) const noexcept;
  };
  struct layout_of_parts;

  [[nodiscard]] static storage storage_of(const const_buffer_ref& buffer) noexcept;
  [[nodiscard]] const storage& storage_at(location location) const noexcept {
    return storages_[static_cast<std::size_t>(location)];
  }
  [[nodiscard]] buffer_ref name(const step& step, const part& bytes) noexcept;
  void reduce_in_pieces(const step& step, const reduction& reduction) const;
  void copy_in_pieces(const step& step) const;

  const schedule& steps_;
  std::unique_ptr<std::byte[]> scratch_;
  storage storages_[3];            // the index is a location
  std::vector<named_part> names_;  // the index is a step's; empty while all is ordinary
};

}  // namespace weft::coll
