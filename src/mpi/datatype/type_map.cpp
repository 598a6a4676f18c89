// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/type_map.hpp"

#include <utility>
#include <vector>

namespace weft::mpi {

namespace {

// Grows `to` to hold `count` intervals, `stride` apart. False: a bound, or their distance, does not fit.
bool try_extend(interval& to, bool is_first, const interval& each, const copies& repeated) noexcept {
  const checked first = checked{repeated.displacement} + each.begin;
  const checked last = first + (checked{repeated.count} - 1) * repeated.stride;
  const checked length = checked{each.end} - each.begin;
  checked begin = smaller(first, last), end = larger(first, last) + length;
  if (!is_first) {
    begin = smaller(begin, to.begin);
    end = larger(end, to.end);
  }
  // The rounded upper bound has to fit, too.
  if (!(end - begin + 64).is_valid() || !(end + 64).is_valid()) return false;
  to = {begin.value(), end.value()};
  return true;
}

bool try_add(const copies& repeated, type_map& out) noexcept {
  const type_map& map = *repeated.map;
  if (repeated.count == 0 || map.is_empty()) return true;
  if (map.size() != 0 && !try_extend(out.extremes, out.size() == 0, map.extremes, repeated)) return false;
  if (map.has_markers && !try_extend(out.markers, !out.has_markers, map.markers, repeated)) return false;
  out.has_markers |= map.has_markers;
  out.alignment = std::max(out.alignment, map.alignment);
  const checked size = checked{map.size()} * repeated.count + out.size();
  out.data.bytes = size.value();
  return size.is_valid();
}

part copied(const part& data, const copies& repeated) {
  part out = repeat(data, repeated.count, repeated.stride);
  if (out.bytes != 0) out.displacement = moved(out.displacement, repeated.displacement);
  return out;
}

bool are_mixed(std::span<const copies> all) noexcept {
  const basic* only = nullptr;
  for (const copies& each : all) {
    if (each.count == 0 || each.map->size() == 0) continue;
    const basic* const element = each.map->data.element;
    if (element == nullptr || (only != nullptr && only != element)) return true;
    only = element;
  }
  return false;
}

}  // namespace

std::int64_t type_map::upper_bound() const noexcept {
  if (has_markers) return markers.end;
  const std::int64_t length = extremes.end - extremes.begin;
  return extremes.begin + (length + alignment - 1) / alignment * alignment;
}

type_map type_map_of(const basic& type) {
  type_map out{.alignment = type.alignment, .extremes = {0, type.bytes}};
  out.data = {0, type.bytes, 1, &type};
  return out;
}

bool try_repeat(const copies& repeated, type_map& out) {
  type_map made;
  if (!try_add(repeated, made)) return false;
  made.data = copied(repeated.map->data, repeated);
  made.typed = copied(repeated.map->typed, repeated);
  out = std::move(made);
  return true;
}

bool try_join(std::span<const copies> list, type_map& out) {
  type_map made;
  std::vector<part> data, typed;
  data.reserve(list.size());
  const bool has_types = are_mixed(list);
  for (const copies& each : list) {
    if (!try_add(each, made)) return false;
    data.push_back(copied(each.map->data, each));
    if (has_types) typed.push_back(copied(each.map->elements(), each));
  }
  made.data = join(std::move(data), false);
  made.typed = has_types ? join(std::move(typed), true) : part{};
  out = std::move(made);
  return true;
}

}  // namespace weft::mpi
