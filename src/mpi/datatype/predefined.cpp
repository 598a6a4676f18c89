// SPDX-License-Identifier: BSD-3-Clause
// The predefined types: made with the first question, and never destroyed.
#include <array>
#include <memory>

#include "mpi/datatype/datatype.hpp"
#include "mpi/datatype/default_kinds.hpp"

namespace weft::mpi {

namespace detail {
constinit std::array<std::atomic<const datatype*>, last_handle - first_handle + 1> predefined_types{};
}  // namespace detail

namespace {

void add(std::uint32_t handle, const char* name, type_map&& map, bool is_absent) {
  auto* const made = new datatype{handle, name, std::move(map), is_absent};
  // [predefined.made] release -> [predefined.find]: the type.
  detail::predefined_types[handle - first_handle].store(made, std::memory_order_release);
}

type_map pair(const basic_pair& described) {
  const type_map value = type_map_of(*find_basic(described.value)), index = type_map_of(*find_basic(described.index));
  const std::int64_t behind = (value.size() + index.alignment - 1) / index.alignment * index.alignment;
  const copies both[] = {{&value, 0, 1, 0}, {&index, behind, 1, 0}};
  type_map out;
  static_cast<void>(try_join(both, out));
  return out;
}

bool make_all() {
  for (const basic& each : basics()) add(each.handle, each.name, type_map_of(each), false);
  for (const basic_pair& each : basic_pairs()) add(each.handle, each.name, pair(each), false);
  for (const absent_type& each : absent_types()) add(each.handle, each.name, {}, true);
  return true;
}

}  // namespace

const datatype* detail::find_predefined_slowly(std::uintptr_t handle) noexcept {
  [[maybe_unused]] static const bool are_made = make_all();
  return find_made(handle);
}

const datatype* find_pair(const datatype& value, const datatype& index) noexcept {
  for (const basic_pair& each : basic_pairs()) {
    if (each.value == value.handle() && each.index == index.handle()) return find_predefined(each.handle);
  }
  if (value.handle() == index.handle()) return find_pair_of_default_kind(value);
  return nullptr;
}

}  // namespace weft::mpi
