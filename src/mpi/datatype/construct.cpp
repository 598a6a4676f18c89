// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/construct.hpp"

#include "mpi/datatype/checked.hpp"
#include "mpi/datatype/constructing.hpp"

namespace weft::mpi {

namespace {

using namespace constructing;
using enum error_class;

// `count` blocks of `block_length` elements; their displacements are `unit` times a number, or bytes for unit 1.
error_class vector_of(combiner kind, std::int64_t count, std::int64_t block_length, std::int64_t stride, checked unit,
                      const datatype* old, width form, datatype_ref& out) {
  const checked distance = checked{stride} * unit;
  type_map block, map;
  if (!try_repeat({&old->map(), 0, block_length, old->extent()}, block)) return value_too_large;
  if (!distance.is_valid() && count > 1 && !block.is_empty()) return value_too_large;
  if (!try_repeat({&block, 0, count, distance.value()}, map)) return value_too_large;
  return finish(std::move(map), arguments_of(kind, form, old, {count, block_length, stride}), out);
}

// Blocks at displacements, which are `unit` times a number.
template <class LengthOf>
error_class indexed_of(std::int64_t count, const LengthOf& length_of, number_list displacements, checked unit,
                       const datatype* old, constructor_arguments&& from, datatype_ref& out) {
  std::vector<copies> blocks;
  blocks.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t length = length_of(i);
    if (length < 0) return argument;
    if (length == 0 || old->map().is_empty()) continue;
    const checked displacement = checked{displacements[i]} * unit;
    if (!displacement.is_valid()) return value_too_large;
    blocks.push_back({&old->map(), displacement.value(), length, old->extent()});
  }
  type_map map;
  if (!try_join(blocks, map)) return value_too_large;
  return finish(std::move(map), std::move(from), out);
}

void append(std::vector<std::int64_t>& to, number_list from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to.push_back(from[i]);
}

error_class indexed_by_lists(combiner kind, std::int64_t count, number_list lengths, number_list displacements,
                             bool is_in_extents, const datatype* old, width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (!is_usable(old)) return type;
  if (count > 0 && (lengths.is_null() || displacements.is_null())) return argument;
  return without_exceptions([&] {
    constructor_arguments from = arguments_of(kind, form, old, {count});
    append(from.numbers, lengths, count);
    append(from.numbers, displacements, count);
    return indexed_of(
        count, [&](std::int64_t i) { return lengths[i]; }, displacements, is_in_extents ? old->extent() : 1, old,
        std::move(from), out);
  });
}

error_class indexed_by_blocks(combiner kind, std::int64_t count, std::int64_t length, number_list displacements,
                              bool is_in_extents, const datatype* old, width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (length < 0) return argument;
  if (!is_usable(old)) return type;
  if (count > 0 && displacements.is_null()) return argument;
  return without_exceptions([&] {
    constructor_arguments from = arguments_of(kind, form, old, {count, length});
    append(from.numbers, displacements, count);
    return indexed_of(
        count, [&](std::int64_t) { return length; }, displacements, is_in_extents ? old->extent() : 1, old,
        std::move(from), out);
  });
}

}  // namespace

error_class make_dup(const datatype* old, datatype_ref& out) noexcept {
  if (!is_usable(old)) return type;
  return without_exceptions([&] {
    type_map map = old->map();
    const error_class made = finish(std::move(map), arguments_of(combiner::dup, width::narrow, old, {}), out);
    if (old->is_committed()) out->commit();
    return made;
  });
}

error_class make_contiguous(std::int64_t count, const datatype* old, width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (!is_usable(old)) return type;
  return without_exceptions([&] {
    type_map map;
    if (!try_repeat({&old->map(), 0, count, old->extent()}, map)) return value_too_large;
    return finish(std::move(map), arguments_of(combiner::contiguous, form, old, {count}), out);
  });
}

error_class make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype* old,
                        width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (block_length < 0) return argument;
  if (!is_usable(old)) return type;
  return without_exceptions(
      [&] { return vector_of(combiner::vector, count, block_length, stride, old->extent(), old, form, out); });
}

error_class make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype* old,
                         width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (block_length < 0) return argument;
  if (!is_usable(old)) return type;
  return without_exceptions(
      [&] { return vector_of(combiner::hvector, count, block_length, stride, 1, old, form, out); });
}

error_class make_indexed(std::int64_t count, number_list block_lengths, number_list displacements, const datatype* old,
                         width form, datatype_ref& out) noexcept {
  return indexed_by_lists(combiner::indexed, count, block_lengths, displacements, true, old, form, out);
}

error_class make_hindexed(std::int64_t count, number_list block_lengths, number_list displacements, const datatype* old,
                          width form, datatype_ref& out) noexcept {
  return indexed_by_lists(combiner::hindexed, count, block_lengths, displacements, false, old, form, out);
}

error_class make_indexed_block(std::int64_t count, std::int64_t block_length, number_list displacements,
                               const datatype* old, width form, datatype_ref& out) noexcept {
  return indexed_by_blocks(combiner::indexed_block, count, block_length, displacements, true, old, form, out);
}

error_class make_hindexed_block(std::int64_t count, std::int64_t block_length, number_list displacements,
                                const datatype* old, width form, datatype_ref& out) noexcept {
  return indexed_by_blocks(combiner::hindexed_block, count, block_length, displacements, false, old, form, out);
}

error_class make_struct(std::int64_t count, number_list block_lengths, number_list displacements,
                        const datatype* const* types, width form, datatype_ref& out) noexcept {
  if (count < 0) return error_class::count;
  if (count > 0 && (block_lengths.is_null() || displacements.is_null() || types == nullptr)) return argument;
  return without_exceptions([&] {
    constructor_arguments from{.kind = combiner::structure, .is_wide = form == width::wide, .numbers = {count}};
    std::vector<copies> blocks;
    for (std::int64_t i = 0; i < count; ++i) {
      if (block_lengths[i] < 0) return argument;
      if (!is_usable(types[i])) return type;
      blocks.push_back({&types[i]->map(), displacements[i], block_lengths[i], types[i]->extent()});
      from.types.emplace_back(*types[i]);
    }
    append(from.numbers, block_lengths, count);
    append(from.numbers, displacements, count);
    type_map map;
    if (!try_join(blocks, map)) return value_too_large;
    return finish(std::move(map), std::move(from), out);
  });
}

error_class make_resized(const datatype* old, std::int64_t lower_bound, std::int64_t extent, width form,
                         datatype_ref& out) noexcept {
  if (!is_usable(old)) return type;
  return without_exceptions([&] {
    type_map map = old->map();
    if (!try_set_bounds(map, lower_bound, extent)) return value_too_large;
    return finish(std::move(map), arguments_of(combiner::resized, form, old, {lower_bound, extent}), out);
  });
}

}  // namespace weft::mpi
