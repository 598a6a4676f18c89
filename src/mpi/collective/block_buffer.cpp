// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/collective/block_buffer.hpp"

#include <algorithm>
#include <limits>

#include "mpi/collective/check.hpp"
#include "mpi/collective/refusal.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::mpi {

block_lists::block_lists(std::size_t members, number_list counts, const datatype& type) : block_lists{members} {
  require(check::given_array(counts.is_null(), "counts"));
  for (std::size_t member = 0; member < members; ++member)
    bytes_[member] = check::bytes_of(counts[static_cast<std::int64_t>(member)], type);
  join();
}

void block_lists::join() {
  std::uint64_t end = 0;
  for (std::size_t member = 0; member < bytes_.size(); ++member) {
    offsets_[member] = end;
    end += bytes_[member];
    if (end > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
      throw refusal{fail(MPI_ERR_COUNT, "the blocks have more bytes than 64 bits count")};
  }
}

block_buffer::block_buffer(std::size_t members, const program_blocks& described)
    : lists_{members}, addresses_(members) {
  require(check::given_array(described.counts.is_null(), "counts"));
  require(check::given_array(described.displacements.is_null(), "displacements"));
  require(check::given_array(described.types.is_null(), "datatypes"));
  types_.reserve(described.types.has_each() ? members : 1);
  for (std::size_t member = 0; member < members; ++member) add(member, described);
  if (is_contiguous_) {
    lie_in_memory();
    return;
  }
  lists_.join();
  bytes_ = lists_.end();
  layout_.emplace(
      layout_functions{
          .pack =
              [](const void* blocks, const void* /*address*/, std::uint64_t offset, std::byte* to, std::size_t bytes) {
                return static_cast<const block_buffer*>(blocks)->copy(
                    offset, bytes, [&](const datatype& type, void* block, std::uint64_t from, std::size_t part) {
                      to += type.pack(block, from, to, part);
                    });
              },
          .unpack =
              [](const void* blocks, void* /*address*/, std::uint64_t offset, const std::byte* from,
                 std::size_t bytes) {
                return static_cast<const block_buffer*>(blocks)->copy(
                    offset, bytes, [&](const datatype& type, void* block, std::uint64_t to, std::size_t part) {
                      from += type.unpack(block, to, from, part);
                    });
              },
      },
      this);
}

// The reference of its type may be that of all blocks.
void block_buffer::add(std::size_t member, const program_blocks& described) {
  const auto index = static_cast<std::int64_t>(member);
  if (types_.empty() || described.types.has_each()) {
    // A block without elements may have the type MPI_DATATYPE_NULL.
    const bool is_none =
        described.types.has_each() && described.types[member] == MPI_DATATYPE_NULL && described.counts[index] == 0;
    const datatype* const found = find_datatype(is_none ? MPI_BYTE : described.types[member]);
    require(check::committed_type(found));
    types_.emplace_back(*found);
  }
  const datatype& type = *types_.back();
  const std::int64_t count = described.counts[index];
  const std::int64_t unit = described.types.has_each() ? 1 : type.extent();
  lists_.bytes_[member] = check::bytes_of(count, type);
  if (lists_.bytes_[member] == 0) return;
  if (described.address == MPI_IN_PLACE) throw refusal{fail(MPI_ERR_BUFFER, "MPI_IN_PLACE is no buffer here")};
  const auto begin = reinterpret_cast<std::uintptr_t>(described.address) +
                     static_cast<std::uintptr_t>(described.displacements[index]) * static_cast<std::uintptr_t>(unit);
  addresses_[member] = reinterpret_cast<void*>(begin);
  require(check::buffer(addresses_[member], count, &type));
  if (!type.is_contiguous(count)) is_contiguous_ = false;
}

void block_buffer::lie_in_memory() noexcept {
  std::uintptr_t first = std::numeric_limits<std::uintptr_t>::max(), last = 0;
  for (std::size_t member = 0; member < addresses_.size(); ++member) {
    const std::uint64_t bytes = lists_.bytes_[member];
    if (bytes == 0) continue;
    const datatype& type = *types_[types_.size() == 1 ? 0 : member];
    const auto begin = reinterpret_cast<std::uintptr_t>(type.buffer(addresses_[member], 1).address());
    lists_.offsets_[member] = begin;
    first = std::min(first, begin);
    last = std::max(last, begin + bytes);
  }
  if (last == 0) return;
  begin_ = reinterpret_cast<std::byte*>(first);
  bytes_ = last - first;
  for (std::size_t member = 0; member < addresses_.size(); ++member)
    lists_.offsets_[member] = lists_.bytes_[member] != 0 ? lists_.offsets_[member] - first : 0;
}

buffer_ref block_buffer::whole() const noexcept {
  if (bytes_ == 0) return no_bytes();
  if (layout_) return {no_bytes().address(), static_cast<std::size_t>(bytes_), *layout_};
  return {begin_, static_cast<std::size_t>(bytes_)};
}

template <class Copy>
std::size_t block_buffer::copy(std::uint64_t offset, std::size_t bytes, const Copy& part) const noexcept {
  const auto& offsets = lists_.offsets_;
  // Empty blocks have the offset of the next one: the last block with an offset that is not behind.
  auto member = static_cast<std::size_t>(std::ranges::upper_bound(offsets, offset) - offsets.begin()) - 1;
  for (std::size_t left = bytes; left != 0; ++member) {
    const std::uint64_t from = offset - offsets[member];
    const auto here = static_cast<std::size_t>(std::min<std::uint64_t>(left, lists_.bytes_[member] - from));
    if (here != 0) part(*types_[types_.size() == 1 ? 0 : member], addresses_[member], from, here);
    left -= here;
    offset += here;
  }
  return bytes;
}

}  // namespace weft::mpi
