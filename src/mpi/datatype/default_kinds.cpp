// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/default_kinds.hpp"

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

namespace weft::mpi {

namespace {

constexpr basic character{0x21e, 1, 1, 1, representation::bytes, "MPI_CHARACTER"};

int bytes_of(const default_kinds& kinds, default_kind kind) noexcept {
  switch (kind) {
    case default_kind::logical: return kinds.logical;
    case default_kind::integer: return kinds.integer;
    case default_kind::real: return kinds.real;
    case default_kind::double_precision: return kinds.double_precision;
    case default_kind::character: return 1;
  }
  return 0;
}

// The handles of Fortran's types of fixed size are 0x2c0, three bits for the size, and three that tell logicals,
// integers, reals and complex numbers apart. Null: there is none.
const basic* find_fixed(const absent_type& type, int bytes) noexcept {
  if (type.kind == default_kind::character) return &character;
  const bool is_complex = type.form == default_form::complex;
  const auto size = static_cast<unsigned>(bytes) * (is_complex ? 2 : 1);
  if (bytes < 0 || !std::has_single_bit(size) || size > 32) return nullptr;
  const std::uint32_t number_bits = std::min(static_cast<std::uint32_t>(type.kind), 2U);
  const std::uint32_t size_bits = static_cast<std::uint32_t>(std::countr_zero(size)) << 3;
  return find_basic(0x2c0 | size_bits | (is_complex ? 3 : number_bits));
}

type_map map_of(const absent_type& type, const basic& number) {
  const type_map single = type_map_of(number);
  if (type.form != default_form::pair) return single;
  type_map out;
  const copies both{&single, 0, 2, single.size()};
  static_cast<void>(try_repeat(both, out));
  return out;
}

// Takes the place of `unsized`, which stays for threads that have found it.
void add(const absent_type& type, const basic& number, const datatype& unsized) {
  static auto& replaced = *new std::vector<const datatype*>;
  replaced.push_back(&unsized);
  auto* const made = new datatype{type.handle, type.name, map_of(type, number), false};
  // [predefined.sized] release -> [predefined.find]: the type.
  detail::predefined_types[type.handle - first_handle].store(made, std::memory_order_release);
}

}  // namespace

bool set_default_kinds(const default_kinds& kinds) {
  static constinit std::mutex mutex;
  const std::lock_guard locked{mutex};
  for (const bool is_trial : {true, false}) {
    for (const absent_type& each : absent_types()) {
      const int bytes = bytes_of(kinds, each.kind);
      if (bytes == 0) continue;
      const basic* const number = find_fixed(each, bytes);
      const datatype& found = *find_predefined(each.handle);
      if (number == nullptr || (!found.is_absent() && found.element() != number)) return false;
      if (!is_trial && found.is_absent()) add(each, *number, found);
    }
  }
  return true;
}

bool has_default_kind(const datatype& type) noexcept {
  return std::ranges::find(absent_types(), type.handle(), &absent_type::handle) != absent_types().end();
}

const datatype* find_pair_of_default_kind(const datatype& number) noexcept {
  const auto all = absent_types();
  const auto kind = std::ranges::find(all, number.handle(), &absent_type::handle);
  if (kind == all.end() || kind->form != default_form::number || number.is_absent()) return nullptr;
  const auto pair = std::ranges::find_if(
      all, [kind](const absent_type& each) { return each.kind == kind->kind && each.form == default_form::pair; });
  return pair != all.end() ? find_predefined(pair->handle) : nullptr;
}

}  // namespace weft::mpi
