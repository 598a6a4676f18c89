// SPDX-License-Identifier: BSD-3-Clause
// The blocks of a collective, one for each member, wherever they lie in a program's memory, as one buffer of Weft's
// with a list of blocks. No data are copied for that.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "mpi.h"
#include "mpi/datatype/construct.hpp"
#include "mpi/datatype/datatype.hpp"
#include "weft/buffer.hpp"
#include "weft/collectives.hpp"
#include "weft/memory.hpp"

namespace weft::mpi {

/// A buffer of no bytes, with an address.
[[nodiscard]] inline buffer_ref no_bytes() noexcept {
  static std::byte none;
  return {&none, 0};
}

/// The datatype of all blocks, or that of each of them.
class block_types {
 public:
  block_types(MPI_Datatype all) noexcept : all_{all} {}
  block_types(const MPI_Datatype* each) noexcept : each_{each}, has_each_{true} {}

  [[nodiscard]] bool has_each() const noexcept { return has_each_; }
  [[nodiscard]] bool is_null() const noexcept { return has_each_ && each_ == nullptr; }
  MPI_Datatype operator[](std::size_t index) const noexcept { return has_each_ ? each_[index] : all_; }

 private:
  MPI_Datatype all_ = MPI_DATATYPE_NULL;
  const MPI_Datatype* each_ = nullptr;
  bool has_each_ = false;
};

/// Blocks as a program describes them. Displacements are in extents where there is one datatype, otherwise in bytes.
struct program_blocks {
  const void* address;
  number_list counts;
  number_list displacements;
  block_types types;
};

/// Sizes and offsets of blocks. Members are in its order.
class block_lists {
 public:
  explicit block_lists(std::size_t members) : bytes_(members), offsets_(members) {}
  /// Blocks of `counts` elements, one behind the other. **Errors**: `refusal`.
  block_lists(std::size_t members, number_list counts, const datatype& type);

  [[nodiscard]] weft::blocks all() const noexcept { return {bytes_, offsets_}; }
  [[nodiscard]] std::uint64_t bytes_of(std::size_t member) const noexcept { return bytes_[member]; }
  [[nodiscard]] std::uint64_t end() const noexcept { return bytes_.empty() ? 0 : bytes_.back() + offsets_.back(); }
  /// Puts each block behind the one before it. **Errors**: `refusal` where they are more than 64 bits count.
  void join();

  std::vector<std::uint64_t> bytes_;
  std::vector<std::uint64_t> offsets_;
};

/// If all blocks are contiguous, the buffer is the memory from the first to the last of them; otherwise a layout has
/// them one behind the other. Its address must not change.
class block_buffer {
 public:
  /// **Errors**: `refusal`, for each argument that MPI refuses.
  block_buffer(std::size_t members, const program_blocks& described);
  block_buffer(const block_buffer&) = delete;
  block_buffer& operator=(const block_buffer&) = delete;

  [[nodiscard]] buffer_ref whole() const noexcept;
  [[nodiscard]] weft::blocks lists() const noexcept { return lists_.all(); }
  [[nodiscard]] std::uint64_t bytes_of(std::size_t member) const noexcept { return lists_.bytes_of(member); }

 private:
  void add(std::size_t member, const program_blocks& described);
  void lie_in_memory() noexcept;
  template <class Copy>
  std::size_t copy(std::uint64_t offset, std::size_t bytes, const Copy& part) const noexcept;

  block_lists lists_;
  std::vector<void*> addresses_;     // element 0 of each block
  std::vector<datatype_ref> types_;  // one for each block, or one for all
  bool is_contiguous_ = true;
  std::byte* begin_ = nullptr;  // set where the blocks are contiguous
  std::uint64_t bytes_ = 0;     // counts the whole buffer
  std::optional<layout> layout_;
};

}  // namespace weft::mpi
