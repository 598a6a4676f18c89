// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/pack.hpp"

#include <algorithm>

#include "mpi/datatype/blocks.hpp"

namespace weft::mpi {

namespace {

using blocks::gathering;
using blocks::scattering;

// The bytes of the data that are still to be copied: `skipped` bytes of it lie before them.
struct range {
  std::uint64_t skipped;
  std::size_t bytes;
};

template <class Direction>
using packed_of = typename Direction::packed;

template <class Direction>
packed_of<Direction> run(const part& data, std::uintptr_t memory, range wanted, packed_of<Direction> packed) noexcept;

// Blocks of one size: `address_of(index)` says where one begins, `copy_whole(index, packed, count)` copies whole ones.
template <class Direction, class AddressOf, class CopyWhole>
packed_of<Direction> run_equal(std::size_t block_bytes, range wanted, packed_of<Direction> packed,
                               const AddressOf& address_of, const CopyWhole& copy_whole) noexcept {
  std::size_t index = 0;
  if (wanted.skipped != 0) {
    index = wanted.skipped / block_bytes;
    const std::size_t block_offset = wanted.skipped % block_bytes;
    if (block_offset != 0) {
      const std::size_t head = std::min(block_bytes - block_offset, wanted.bytes);
      blocks::move_block<Direction>(address_of(index) + block_offset, packed, head);
      packed += head;
      wanted.bytes -= head;
      ++index;
    }
  }
  const std::size_t count = wanted.bytes / block_bytes;
  if (count != 0) packed = copy_whole(index, packed, count);
  const std::size_t tail = wanted.bytes - count * block_bytes;
  if (tail != 0) blocks::move_block<Direction>(address_of(index + count), packed, tail);
  return packed + tail;
}

template <class Direction>
packed_of<Direction> run_strided(const node& node, std::uintptr_t memory, range wanted,
                                 packed_of<Direction> packed) noexcept {
  const auto stride = static_cast<std::uintptr_t>(node.stride);
  const auto address_of = [&](std::size_t index) { return memory + index * stride; };
  const auto whole_of = [&](auto size) {
    return run_equal<Direction>(size, wanted, packed, address_of, [&](std::size_t index, auto to, std::size_t count) {
      return blocks::strided<Direction, size>(address_of(index), stride, to, count);
    });
  };
  return blocks::dispatch_size(static_cast<std::size_t>(node.block_bytes), whole_of, [&] {
    const auto bytes = static_cast<std::size_t>(node.block_bytes);
    return run_equal<Direction>(bytes, wanted, packed, address_of, [&](std::size_t index, auto to, std::size_t count) {
      for (std::uintptr_t block = address_of(index); count != 0; --count, block += stride, to += bytes) {
        blocks::move_block<Direction>(block, to, bytes);
      }
      return to;
    });
  });
}

template <class Direction>
packed_of<Direction> run_scattered(const node& node, std::uintptr_t memory, range wanted,
                                   packed_of<Direction> packed) noexcept {
  const std::int64_t* const displacements = node.displacements.data();
  const auto address_of = [&](std::size_t index) { return memory + static_cast<std::uintptr_t>(displacements[index]); };
  const auto whole_of = [&](auto size) {
    return run_equal<Direction>(size, wanted, packed, address_of, [&](std::size_t index, auto to, std::size_t count) {
      return blocks::scattered<Direction, size>(memory, displacements + index, to, count);
    });
  };
  return blocks::dispatch_size(static_cast<std::size_t>(node.block_bytes), whole_of, [&] {
    const auto bytes = static_cast<std::size_t>(node.block_bytes);
    return run_equal<Direction>(bytes, wanted, packed, address_of, [&](std::size_t index, auto to, std::size_t count) {
      for (; count != 0; --count, ++index, to += bytes) blocks::move_block<Direction>(address_of(index), to, bytes);
      return to;
    });
  });
}

// The first entry of a list that has wanted bytes; `wanted.skipped` is in this entry afterwards.
std::size_t enter(const node& list, range& wanted) noexcept {
  if (wanted.skipped == 0) return 0;
  const auto found = std::ranges::upper_bound(list.ends, static_cast<std::int64_t>(wanted.skipped));
  const auto index = static_cast<std::size_t>(found - list.ends.begin());
  if (index != 0) wanted.skipped -= static_cast<std::uint64_t>(list.ends[index - 1]);
  return index;
}

// Calls `copy(index, skipped, bytes)` for each entry of a list that has wanted bytes.
template <class Copy>
void each_entry(const node& list, range wanted, const Copy& copy) noexcept {
  std::size_t index = enter(list, wanted);
  std::int64_t begin = index == 0 ? 0 : list.ends[index - 1];
  while (wanted.bytes != 0) {
    const auto length = static_cast<std::uint64_t>(list.ends[index] - begin);
    const std::size_t bytes = std::min<std::uint64_t>(length - wanted.skipped, wanted.bytes);
    copy(index, wanted.skipped, bytes);
    begin = list.ends[index++];
    wanted = {0, wanted.bytes - bytes};
  }
}

template <class Direction>
packed_of<Direction> run_loop(const node& node, std::uintptr_t memory, range wanted,
                              packed_of<Direction> packed) noexcept {
  const part& body = node.parts[0];
  const auto length = static_cast<std::uint64_t>(body.bytes);
  const auto stride = static_cast<std::uintptr_t>(node.stride);
  if (wanted.skipped >= length) {
    memory += wanted.skipped / length * stride;
    wanted.skipped %= length;
  }
  const bool has_structs = body.blocks != nullptr && body.blocks->is == node::kind::various;
  while (wanted.bytes != 0) {
    const std::size_t count = has_structs && wanted.skipped == 0 ? wanted.bytes / length : 0;
    if (count != 0) {
      const std::uintptr_t first = memory + static_cast<std::uintptr_t>(body.displacement);
      packed = blocks::structs<Direction>(first, stride, *body.blocks, packed, count);
      memory += count * stride;
      wanted.bytes -= count * length;
      continue;
    }
    const std::size_t bytes = std::min<std::uint64_t>(length - wanted.skipped, wanted.bytes);
    packed = run<Direction>(body, memory, {wanted.skipped, bytes}, packed);
    memory += stride;
    wanted = {0, wanted.bytes - bytes};
  }
  return packed;
}

template <class Direction>
packed_of<Direction> run(const part& data, std::uintptr_t memory, range wanted, packed_of<Direction> packed) noexcept {
  memory += static_cast<std::uintptr_t>(data.displacement);
  if (data.blocks == nullptr) {
    blocks::move_block<Direction>(memory + wanted.skipped, packed, wanted.bytes);
    return packed + wanted.bytes;
  }
  const node& node = *data.blocks;
  switch (node.is) {
    case node::kind::strided: return run_strided<Direction>(node, memory, wanted, packed);
    case node::kind::scattered: return run_scattered<Direction>(node, memory, wanted, packed);
    case node::kind::loop: return run_loop<Direction>(node, memory, wanted, packed);
    case node::kind::various:
      each_entry(node, wanted, [&](std::size_t index, std::uint64_t skipped, std::size_t bytes) {
        const auto address = memory + static_cast<std::uintptr_t>(node.displacements[index]);
        blocks::move_block<Direction>(address + skipped, packed, bytes);
        packed += bytes;
      });
      break;
    case node::kind::list:
      each_entry(node, wanted, [&](std::size_t index, std::uint64_t skipped, std::size_t bytes) {
        packed = run<Direction>(node.parts[index], memory, {skipped, bytes}, packed);
      });
      break;
  }
  return packed;
}

}  // namespace

void pack_bytes(const part& from, const void* address, std::uint64_t offset, std::byte* to,
                std::size_t bytes) noexcept {
  if (bytes != 0) run<gathering>(from, reinterpret_cast<std::uintptr_t>(address), {offset, bytes}, to);
}

void unpack_bytes(const part& to, void* address, std::uint64_t offset, const std::byte* from,
                  std::size_t bytes) noexcept {
  if (bytes != 0) run<scattering>(to, reinterpret_cast<std::uintptr_t>(address), {offset, bytes}, from);
}

}  // namespace weft::mpi
