// SPDX-License-Identifier: BSD-3-Clause
// The buffers of a run, in which each step has its parts: the input, the output and temporary memory.
//
// Input and output may lie in memory of a kind, or have a layout. A message names a part of such a buffer and is copied
// once at each side, as any message of such memory. Reductions and copies pass through pieces of ordinary memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "coll/schedule.hpp"
#include "weft/buffer.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// Whether the buffer lies in ordinary memory.
[[nodiscard]] bool is_ordinary(const const_buffer_ref& of) noexcept;

class step_buffers {
 public:
  /// For the steps of `of`, which outlives this. **Errors**: std::bad_alloc.
  explicit step_buffers(const schedule& of);

  /// The buffers of the next run. The first ones in other than ordinary memory allocate. **Errors**: std::bad_alloc.
  void use(const const_buffer_ref& in, const buffer_ref& out);

  /// What a send reads, or a receive writes. **Threads**: any.
  [[nodiscard]] const_buffer_ref read(const step& of) noexcept;
  [[nodiscard]] buffer_ref written(const step& of) noexcept;
  /// Carries out a reduction, or a copy. **Threads**: any. **Errors**: memory_failed; std::bad_alloc.
  void reduce(const step& which, const reduction& by) const;
  void copy(const step& which) const;

 private:
  // A buffer, and its memory; null: ordinary.
  struct storage {
    std::byte* address = nullptr;
    const weft::memory* memory = nullptr;
  };
  // A part of a buffer that messages name as an address, with a layout that knows it.
  struct named_part {
    storage in;
    std::uint64_t offset = 0;

    [[nodiscard]] bool copy_out(std::uint64_t from, std::byte* to, std::size_t bytes) const noexcept;
    [[nodiscard]] bool copy_in(std::uint64_t to, const std::byte* from, std::size_t bytes) const noexcept;
  };
  struct layout_of_parts;

  [[nodiscard]] static storage storage_of(const const_buffer_ref& of) noexcept;
  [[nodiscard]] const storage& at(location of) const noexcept { return storages_[static_cast<std::size_t>(of)]; }
  [[nodiscard]] buffer_ref name(const step& of, const part& bytes) noexcept;
  void reduce_in_pieces(const step& which, const reduction& by) const;
  void copy_in_pieces(const step& which) const;

  const schedule& steps_;
  std::unique_ptr<std::byte[]> temporary_;
  storage storages_[3];            // by location
  std::vector<named_part> names_;  // by step; empty while all is ordinary
};

}  // namespace weft::coll
