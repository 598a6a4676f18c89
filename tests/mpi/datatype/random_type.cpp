// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/random_type.hpp"

#include <array>
#include <stdexcept>
#include <vector>

#include "mpi/datatype/construct.hpp"

namespace weft::test {

namespace {

using namespace mpi;

void must(error_class made) {
  if (made != error_class::success) {
    throw std::runtime_error("random_type: a constructor failed: " + std::to_string(static_cast<int>(made)));
  }
}

width any_width(generator& random) { return between(random, 0, 1) == 0 ? width::narrow : width::wide; }

std::vector<std::int64_t> numbers_between(generator& random, std::int64_t count, std::int64_t low, std::int64_t high) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(between(random, low, high));
  return out;
}

// In blocks that mostly do not overlap: unpacking overlapping ones is an error, which tests avoid by `overlaps`.
std::vector<std::int64_t> spread(generator& random, const std::vector<std::int64_t>& lengths) {
  std::vector<std::int64_t> out;
  std::int64_t at = between(random, -20, 20);
  const bool is_regular = between(random, 0, 2) == 0;
  for (const std::int64_t length : lengths) {
    out.push_back(at);
    at += length + (is_regular ? 1 : between(random, 0, 3));
  }
  if (between(random, 0, 2) == 0) std::shuffle(out.begin(), out.end(), random);
  return out;
}

modelled_type contiguous(generator& random, const modelled_type& old) {
  modelled_type out;
  const std::int64_t count = between(random, 0, 5);
  must(make_contiguous(count, old.type.get(), any_width(random), out.type));
  out.model.append_block(old.model, count, 0);
  return out;
}

modelled_type vector_of(generator& random, const modelled_type& old) {
  modelled_type out;
  const std::int64_t count = between(random, 0, 6), length = between(random, 0, 3);
  const std::int64_t sign = between(random, 0, 3) == 0 ? -1 : 1;
  const bool is_in_bytes = between(random, 0, 1) == 0;
  const std::int64_t stride = sign * (length + between(random, 0, 3)) + (between(random, 0, 9) == 0 ? -1 : 0);
  const std::int64_t bytes = stride * old.model.extent() + (is_in_bytes ? between(random, 0, 9) : 0);
  if (is_in_bytes) {
    must(make_hvector(count, length, bytes, old.type.get(), any_width(random), out.type));
  } else {
    must(make_vector(count, length, stride, old.type.get(), any_width(random), out.type));
  }
  for (std::int64_t i = 0; i < count; ++i) out.model.append_block(old.model, length, i * bytes);
  return out;
}

modelled_type indexed(generator& random, const modelled_type& old) {
  modelled_type out;
  const std::int64_t count = between(random, 0, 7);
  const bool is_block = between(random, 0, 1) == 0, is_in_bytes = between(random, 0, 1) == 0;
  std::vector<std::int64_t> lengths = numbers_between(random, count, 0, 3);
  const std::int64_t length = between(random, 0, 3);
  if (is_block) lengths.assign(lengths.size(), length);
  std::vector<std::int64_t> at = spread(random, lengths);
  const std::int64_t extent = old.model.extent();
  if (is_in_bytes) {
    for (std::int64_t& each : at) each = each * extent + (between(random, 0, 4) == 0 ? 1 : 0);
  }
  const datatype* const type = old.type.get();
  const width form = any_width(random);
  const number_list all{at.data()}, in_blocks{lengths.data()};
  if (is_block && is_in_bytes) must(make_hindexed_block(count, length, all, type, form, out.type));
  if (is_block && !is_in_bytes) must(make_indexed_block(count, length, all, type, form, out.type));
  if (!is_block && is_in_bytes) must(make_hindexed(count, in_blocks, all, type, form, out.type));
  if (!is_block && !is_in_bytes) must(make_indexed(count, in_blocks, all, type, form, out.type));
  for (std::size_t i = 0; i < at.size(); ++i) {
    out.model.append_block(old.model, lengths[i], is_in_bytes ? at[i] : at[i] * extent);
  }
  return out;
}

modelled_type structure(generator& random, int depth) {
  modelled_type out;
  const std::int64_t count = between(random, 0, 4);
  const std::vector<std::int64_t> lengths = numbers_between(random, count, 0, 3);
  std::vector<std::int64_t> at;
  std::vector<modelled_type> old;
  std::vector<const datatype*> types;
  std::int64_t next = between(random, -30, 30);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const bool is_again = i != 0 && between(random, 0, 2) == 0;
    old.push_back(is_again ? old.back() : random_type(random, depth));
    types.push_back(old.back().type.get());
    at.push_back(next - old.back().model.lower_bound());
    next += lengths[i] * old.back().model.extent() + between(random, 0, 8);
    out.model.append_block(old.back().model, lengths[i], at.back());
  }
  must(make_struct(count, lengths.data(), at.data(), types.data(), any_width(random), out.type));
  return out;
}

modelled_type resized(generator& random, const modelled_type& old) {
  modelled_type out{{}, old.model};
  out.model.has_bounds = true;
  out.model.lower = old.model.lower_bound() - between(random, -3, 8);
  const std::int64_t extent = old.model.extent() + between(random, -2, 16);
  out.model.upper = out.model.lower + extent;
  must(make_resized(old.type.get(), out.model.lower, extent, any_width(random), out.type));
  return out;
}

modelled_type duplicate(const modelled_type& old) {
  modelled_type out{{}, old.model};
  must(make_dup(old.type.get(), out.type));
  return out;
}

// The dimensions of an array, and the same with the slowest dimension first.
struct dimensions {
  std::vector<std::int64_t> sizes;
  int order;

  explicit dimensions(generator& random)
      : sizes{numbers_between(random, between(random, 1, 3), 1, 5)},
        order{between(random, 0, 1) == 0 ? order_c : order_fortran} {}
  [[nodiscard]] std::size_t slowest_first(std::size_t i) const { return order == order_c ? i : sizes.size() - 1 - i; }
  [[nodiscard]] std::vector<std::int64_t> sorted() const {
    std::vector<std::int64_t> out;
    for (std::size_t i = 0; i < sizes.size(); ++i) out.push_back(sizes[slowest_first(i)]);
    return out;
  }
};

modelled_type subarray(generator& random, const modelled_type& old) {
  modelled_type out;
  const dimensions in{random};
  std::vector<std::int64_t> subsizes, starts;
  for (const std::int64_t size : in.sizes) {
    subsizes.push_back(between(random, 1, size));
    starts.push_back(between(random, 0, size - subsizes.back()));
  }
  must(make_subarray(static_cast<int>(in.sizes.size()), in.sizes.data(), subsizes.data(), starts.data(), in.order,
                     old.type.get(), any_width(random), out.type));
  out.model = model_of_array(old.model, in.sorted(), [&](std::size_t i, std::int64_t index) {
    const std::size_t dimension = in.slowest_first(i);
    return index >= starts[dimension] && index < starts[dimension] + subsizes[dimension];
  });
  return out;
}

modelled_type darray(generator& random, const modelled_type& old) {
  modelled_type out;
  const dimensions in{random};
  std::vector<int> distributions, arguments, grid;
  std::vector<divided_dimension> divided;
  int ranks = 1;
  for (const std::int64_t size : in.sizes) {
    const auto kind = static_cast<int>(between(random, distribute_none, distribute_cyclic));
    const auto of = kind == distribute_none ? 1 : static_cast<int>(between(random, 1, 3));
    const std::int64_t least = (size + of - 1) / of;
    const bool is_default = between(random, 0, 1) == 0;
    std::int64_t block = kind == distribute_cyclic ? between(random, 1, 3) : between(random, least, least + 2);
    if (is_default) block = kind == distribute_cyclic ? 1 : least;
    distributions.push_back(kind);
    arguments.push_back(is_default ? distribute_default : static_cast<int>(block));
    grid.push_back(of);
    divided.push_back({size, block, of, 0});
    ranks *= of;
  }
  const auto rank = static_cast<int>(between(random, 0, ranks - 1));
  std::int64_t rest = rank;
  for (std::size_t i = divided.size(); i-- > 0; rest /= divided[i].ranks) divided[i].rank = rest % divided[i].ranks;
  must(make_darray({ranks, rank, static_cast<int>(in.sizes.size()), in.sizes.data(), distributions.data(),
                    arguments.data(), grid.data(), in.order},
                   old.type.get(), any_width(random), out.type));
  out.model = model_of_array(old.model, in.sorted(), [&](std::size_t i, std::int64_t index) {
    const std::size_t dimension = in.slowest_first(i);
    return distributions[dimension] == distribute_none || divided[dimension].owns(index);
  });
  return out;
}

}  // namespace

modelled_type random_predefined(generator& random) {
  const std::int64_t which = between(random, 0, 7);
  if (which == 0) {
    const auto& pair = basic_pairs()[static_cast<std::size_t>(between(random, 0, std::ssize(basic_pairs()) - 1))];
    const datatype* const type = find_predefined(pair.handle);
    modelled_type out{datatype_ref{*type}, type_model::of(pair.value)};
    const std::int64_t bytes = out.model.size();
    out.model.append(type_model::of(pair.index), (bytes + 3) / 4 * 4);
    return out;
  }
  constexpr std::array<std::uint32_t, 5> usual{0x209, 0x214, 0x243, 0x208, 0x210};
  const std::uint32_t handle =
      which < 4 ? usual[static_cast<std::size_t>(between(random, 0, 4))]
                : basics()[static_cast<std::size_t>(between(random, 0, std::ssize(basics()) - 1))].handle;
  return {datatype_ref{*find_predefined(handle)}, type_model::of(handle)};
}

modelled_type random_type(generator& random, int depth) {
  if (depth == 0) return random_predefined(random);
  if (between(random, 0, 3) == 0) return structure(random, depth - 1);
  const modelled_type old = random_type(random, depth - 1);
  if (old.model.entries.size() > 60) return between(random, 0, 1) == 0 ? duplicate(old) : resized(random, old);
  switch (between(random, 0, 7)) {
    case 0: return contiguous(random, old);
    case 1: return vector_of(random, old);
    case 2:
    case 3: return indexed(random, old);
    case 4: return resized(random, old);
    case 5: return subarray(random, old);
    case 6: return darray(random, old);
    default: return duplicate(old);
  }
}

}  // namespace weft::test
