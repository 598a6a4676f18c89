// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/datatype.hpp"

#include <limits>

#include "mpi/datatype/pack.hpp"

namespace weft::mpi {

namespace {

// The largest count of elements that fits: a buffer has its own count, so one layout serves messages of all counts.
part all_of(const type_map& map) {
  if (map.size() == 0) return {};
  return repeat(map.data, std::numeric_limits<std::int64_t>::max() / map.size(), map.extent());
}

// Whether the data of any count of elements, as far as they fit, lie one behind the other from the address on, and an
// element is no longer than a process has memory. So the size of some thousand elements fits in 64 bits.
bool are_dense(const type_map& map, const part& all) noexcept {
  constexpr std::int64_t bytes_max = std::int64_t{1} << 48;
  return map.size() <= bytes_max && map.data.blocks == nullptr && map.data.displacement == 0 && all.blocks == nullptr &&
         all.bytes > map.size();
}

constexpr layout_functions copies_of_type{
    .pack = [](const void* type, const void* address, std::uint64_t offset, std::byte* to,
               std::size_t bytes) { return static_cast<const datatype*>(type)->pack(address, offset, to, bytes); },
    .unpack =
        [](const void* type, void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) {
          return static_cast<const datatype*>(type)->unpack(address, offset, from, bytes);
        },
};

}  // namespace

datatype::datatype(type_map&& map, constructor_arguments&& from)
    : map_{std::move(map)}, all_{all_of(map_)}, layout_{copies_of_type, this}, constructor_{std::move(from)} {
  map_.is_dense = are_dense(map_, all_);
}

datatype::datatype(std::uint32_t handle, std::string_view name, type_map&& map, bool is_absent)
    : map_{std::move(map)},
      all_{all_of(map_)},
      layout_{copies_of_type, this},
      name_{name},
      handle_{handle},
      is_absent_{is_absent},
      is_committed_{!is_absent} {
  map_.is_dense = are_dense(map_, all_);
}

const_buffer_ref datatype::buffer_of_blocks(const void* address, std::int64_t count) const noexcept {
  const auto bytes = static_cast<std::size_t>(size() * count);
  if (!is_contiguous(count)) return {address, bytes, layout_};
  const auto begin = reinterpret_cast<std::uintptr_t>(address) + static_cast<std::uintptr_t>(map_.data.displacement);
  return {reinterpret_cast<const void*>(begin), bytes};
}

std::size_t datatype::pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept {
  pack_bytes(all_, address, offset, to, bytes);
  return bytes;
}

std::size_t datatype::unpack(void* address, std::uint64_t offset, const std::byte* from,
                             std::size_t bytes) const noexcept {
  unpack_bytes(all_, address, offset, from, bytes);
  return bytes;
}

void datatype::add_reference() const noexcept {
  if (is_predefined()) return;
  // relaxed: the caller has a reference already, so no thread destroys the type.
  references_.fetch_add(1, std::memory_order_relaxed);
}

void datatype::remove_reference(const datatype* type) noexcept {
  // A list instead of recursion: a program may nest types as deep as it likes.
  const datatype* ended = nullptr;
  const auto remove_from = [&](const datatype* each) noexcept {
    if (each->is_predefined()) return;
    // [datatype.last] acq_rel <-> [datatype.last]: the thread that destroys the type sees all that others did with it.
    if (each->references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    each->next_ = ended;
    ended = each;
  };
  remove_from(type);
  while (ended != nullptr) {
    const datatype* const each = std::exchange(ended, ended->next_);
    for (datatype_ref& old : each->constructor_.types) remove_from(old.release());
    delete each;
  }
}

}  // namespace weft::mpi
