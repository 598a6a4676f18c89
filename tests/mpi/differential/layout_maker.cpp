// SPDX-License-Identifier: BSD-3-Clause
#include "layout_maker.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <type_traits>

#include "basic_types.hpp"
#include "scene.hpp"

namespace differential {

namespace {

// NAME(numbers; element).
template <class... Numbers>
std::string call(const char* name, const std::string& element, const Numbers&... numbers) {
  std::string out = std::string{name} + "(";
  [[maybe_unused]] const auto append = [&](const auto& number) {
    if constexpr (std::is_arithmetic_v<std::decay_t<decltype(number)>>) {
      out += std::to_string(number) + ", ";
    } else {
      out += "[";
      for (const auto each : number) out += std::to_string(each) + " ";
      out += "], ";
    }
  };
  (append(numbers), ...);
  return out + element + ")";
}

long round_up(long value, long to) { return (value + to - 1) / to * to; }

}  // namespace

layout random_layout(random_source& random, const signature& of) { return layout_maker{random}.make(of); }

layout layout_maker::make(const signature& of) {
  if (of.basic >= 0) {
    layout out{of.basic};
    if (random_.chance(10)) change(out);
    return out;
  }
  layout element = of.parts.size() == 1 ? make(of.parts.front()) : concatenate(of.parts);
  layout out = repeat(std::move(element), of.times);
  if (random_.chance(30)) change(out);
  return out;
}

// Where each of `at.size()` elements begins, in bytes. Bounds are those of the standard without explicit ones.
layout layout_maker::repeated(const layout& element, const std::vector<long>& at) {
  layout out;
  out.alignment = element.alignment;
  for (const long begin : at) {
    for (const item& each : element.map) out.map.push_back({begin + each.at, each.basic});
  }
  const auto [first, last] = std::minmax_element(at.begin(), at.end());
  out.lower = *first + element.lower;
  out.extent = *last + element.lower + element.extent - out.lower;
  return out;
}

int layout_maker::divisor_of(int n) {
  std::vector<int> all;
  for (int each = 1; each <= n; ++each) {
    if (n % each == 0) all.push_back(each);
  }
  return random_.pick(all);
}

layout layout_maker::repeat(layout element, int n) {
  if (n == 1 && random_.chance(70)) return element;
  switch (random_.between(0, 9)) {
    case 0: return vector(std::move(element), n, false);
    case 1: return vector(std::move(element), n, true);
    case 2: return indexed(std::move(element), n, false, false);
    case 3: return indexed(std::move(element), n, true, false);
    case 4: return indexed(std::move(element), n, false, true);
    case 5: return indexed(std::move(element), n, true, true);
    case 6: return subarray(std::move(element), n);
    case 7: return is_left_out("darray") ? contiguous(std::move(element), n) : darray(std::move(element), n);
    default: return contiguous(std::move(element), n);
  }
}

layout layout_maker::contiguous(layout element, int n) {
  std::vector<long> at;
  for (int i = 0; i < n; ++i) at.push_back(i * element.extent);
  layout out = repeated(element, at);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(n, element.type, &made);
  out.become(made, call("contiguous", element.text, n));
  return out;
}

layout layout_maker::vector(layout element, int n, bool by_bytes) {
  const int length = divisor_of(n), blocks = n / length;
  const int stride =
      (length + random_.between(0, 3)) * (random_.chance(30) && !is_left_out("negative_stride") ? -1 : 1);
  std::vector<long> at;
  for (int block = 0; block < blocks; ++block) {
    for (int i = 0; i < length; ++i) at.push_back((long{block} * stride + i) * element.extent);
  }
  layout out = repeated(element, at);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  if (by_bytes) {
    MPI_Type_create_hvector(blocks, length, stride * element.extent, element.type, &made);
  } else {
    MPI_Type_vector(blocks, length, stride, element.type, &made);
  }
  out.become(made, call(by_bytes ? "hvector" : "vector", element.text, blocks, length, stride));
  return out;
}

std::vector<long> layout_maker::positions_of(const std::vector<int>& lengths) {
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random_.chance(50)) random_.shuffle(order);
  std::vector<long> out(lengths.size());
  long next = random_.chance(30) ? random_.between(-20, 5) : 0;
  for (const std::size_t each : order) {
    out[each] = next;
    next += lengths[each] + (random_.chance(50) ? 0 : random_.between(0, 4));
  }
  return out;
}

layout layout_maker::indexed(layout element, int n, bool by_bytes, bool in_equal_blocks) {
  const int length = divisor_of(n);
  std::vector<int> lengths =
      in_equal_blocks ? std::vector<int>(static_cast<std::size_t>(n / length), length) : random_.split(n, n / length);
  const std::vector<long> where = positions_of(lengths);
  std::vector<int> displacements;
  std::vector<MPI_Aint> bytes;
  std::vector<long> at;
  for (std::size_t block = 0; block < lengths.size(); ++block) {
    displacements.push_back(static_cast<int>(where[block]));
    bytes.push_back(where[block] * element.extent);
    for (int i = 0; i < lengths[block]; ++i) at.push_back((where[block] + i) * element.extent);
  }
  layout out = repeated(element, at);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  const int count = static_cast<int>(lengths.size());
  if (in_equal_blocks && by_bytes) {
    MPI_Type_create_hindexed_block(count, length, bytes.data(), element.type, &made);
  } else if (in_equal_blocks) {
    MPI_Type_create_indexed_block(count, length, displacements.data(), element.type, &made);
  } else if (by_bytes) {
    MPI_Type_create_hindexed(count, lengths.data(), bytes.data(), element.type, &made);
  } else {
    MPI_Type_indexed(count, lengths.data(), displacements.data(), element.type, &made);
  }
  const char* const name = by_bytes ? "hindexed" : "indexed";
  out.become(made,
             in_equal_blocks ? call(name, element.text, length, where) : call(name, element.text, lengths, where));
  return out;
}

layout layout_maker::subarray(layout element, int n) {
  const int rows = divisor_of(n), columns = n / rows;  // of the part
  const bool in_c = random_.chance(60);
  const std::array<int, 2> parts{rows, columns};
  std::array<int, 2> starts{random_.between(0, 2), random_.between(0, 2)}, sizes{};
  for (std::size_t i = 0; i < 2; ++i) sizes[i] = starts[i] + parts[i] + random_.between(0, 2);
  const std::size_t outer = in_c ? 0 : 1, inner = 1 - outer;
  std::vector<long> at;
  for (int i = 0; i < parts[outer]; ++i) {
    for (int j = 0; j < parts[inner]; ++j) {
      at.push_back((long{starts[outer] + i} * sizes[inner] + starts[inner] + j) * element.extent);
    }
  }
  layout out = repeated(element, at);
  out.lower = 0;
  out.extent = long{sizes[0]} * sizes[1] * element.extent;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes.data(), parts.data(), starts.data(), in_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN,
                           element.type, &made);
  out.become(made, call(in_c ? "subarray" : "fortran-subarray", element.text, sizes, parts, starts));
  return out;
}

// One process's part of a cyclic or blocked line of elements.
layout layout_maker::darray(layout element, int n) {
  const int processes = random_.between(1, 4), mine = random_.between(0, processes - 1), block = random_.between(1, 3);
  std::vector<long> at;
  int cells = 0;
  for (; static_cast<int>(at.size()) < n; ++cells) {
    if (cells / block % processes == mine) at.push_back(cells * element.extent);
  }
  while (cells / block % processes != mine && random_.chance(50)) ++cells;
  layout out = repeated(element, at);
  out.lower = 0;
  out.extent = long{cells} * element.extent;
  const int distribution = MPI_DISTRIBUTE_CYCLIC;
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_darray(processes, mine, 1, &cells, &distribution, &block, &processes,
                         random_.chance(50) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, element.type, &made);
  out.become(made, call("darray", element.text, processes, mine, cells, block));
  return out;
}

// MPI_DOUBLE_INT and its like, where the parts are those.
bool layout_maker::make_pair(const std::vector<signature>& parts, layout& out) {
  static const std::vector<std::pair<int, MPI_Datatype>> pairs{
      {find_basic("float"), MPI_FLOAT_INT}, {find_basic("double"), MPI_DOUBLE_INT},
      {find_basic("long"), MPI_LONG_INT},   {find_basic("int"), MPI_2INT},
      {find_basic("short"), MPI_SHORT_INT}, {find_basic("long double"), MPI_LONG_DOUBLE_INT}};
  if (parts.size() != 2 || parts[0].basic < 0 || parts[1].basic != find_basic("int")) return false;
  for (const auto& [first, type] : pairs) {
    if (first != parts[0].basic) continue;
    const layout value{first}, index{parts[1].basic};
    out.map = {{0, first}, {round_up(value.extent, index.alignment), parts[1].basic}};
    out.alignment = std::max(value.alignment, index.alignment);
    out.extent = round_up(out.map[1].at + index.extent, out.alignment);
    out.type = type;
    out.text = "pair of " + value.text;
    return true;
  }
  return false;
}

layout layout_maker::concatenate(const std::vector<signature>& parts) {
  layout out;
  if (random_.chance(70) && make_pair(parts, out)) return out;
  std::vector<layout> made;
  std::vector<int> lengths;
  for (const signature& each : parts) {
    const bool is_counted = each.basic < 0 && each.parts.size() == 1 && random_.chance(50);
    made.push_back(make(is_counted ? each.parts.front() : each));
    lengths.push_back(is_counted ? each.times : 1);
    out.alignment = std::max(out.alignment, made.back().alignment);
  }
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (random_.chance(50)) random_.shuffle(order);
  std::vector<MPI_Aint> at(parts.size());
  long next = random_.chance(20) ? random_.between(-4, 0) * out.alignment : 0;
  for (const std::size_t each : order) {
    const layout& part = made[each];
    next = round_up(next + random_.between(0, 9), out.alignment);
    at[each] = next - part.true_lower();
    next += (lengths[each] - 1) * part.extent + part.true_upper() - part.true_lower();
  }
  std::vector<MPI_Datatype> types;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    types.push_back(made[i].type);
    text += (i == 0 ? "" : ", ") + made[i].text;
    for (int count = 0; count < lengths[i]; ++count) {
      for (const item& each : made[i].map) out.map.push_back({at[i] + count * made[i].extent + each.at, each.basic});
    }
  }
  MPI_Datatype all = MPI_DATATYPE_NULL;
  MPI_Type_create_struct(static_cast<int>(parts.size()), lengths.data(), at.data(), types.data(), &all);
  out.become(all, call("struct", text, lengths, at));
  resize(out);  // the standard leaves it open by how much a struct's extent is rounded up
  return out;
}

void layout_maker::change(layout& of) {
  if (random_.chance(50)) return resize(of);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_dup(of.type, &made);
  of.become(made, call("dup", of.text));
}

void layout_maker::resize(layout& of) {
  of.lower = (of.true_lower() / of.alignment - 1 - random_.between(0, 2)) * of.alignment;
  if (random_.chance(40)) of.lower = of.true_lower() / of.alignment * of.alignment;
  of.extent = round_up(of.true_upper() - of.true_lower() + random_.between(0, 9), of.alignment);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(of.type, of.lower, of.extent, &made);
  of.become(made, call("resized", of.text, of.lower, of.extent));
}

}  // namespace differential
