// SPDX-License-Identifier: BSD-3-Clause
#include "side.hpp"

#include <algorithm>

#include "basic_types.hpp"

namespace differential {
namespace {

constexpr std::byte gap{0xa5};
constexpr long margin = 64;

// How many units an element of the count is to hold.
int draw_group(random_source& random, int units, bool may_be_more) {
  if (units < 2 || random.chance(50)) return 1;
  if (may_be_more) return random.between(1, std::min(units, 7));
  std::vector<int> all;
  for (int each = 1; each <= std::min(units, 50); ++each) {
    if (units % each == 0) all.push_back(each);
  }
  return random.pick(all);
}

layout make_type(random_source& random, const signature& unit, int group) {
  return random_layout(random, group == 1 ? unit : unit.repeated(group));
}

}  // namespace

cargo random_cargo(random_source& random, int depth) {
  cargo out{random_signature(random, depth), 0, random.next()};
  const std::size_t each = out.unit.elements();
  const int length = random.between(1, 100);
  std::size_t wanted = static_cast<std::size_t>(random.between(0, 40));
  if (length <= 10) wanted = 5000;
  if (length == 100) wanted = 60000;
  if (random.chance(4)) return out;
  out.units = static_cast<int>(length > 10 && length < 100 ? std::min(wanted, 4000 / each + 1) : wanted / each + 1);
  return out;
}

side::side(random_source random, const signature& unit, int units, bool may_be_more)
    : group_{draw_group(random, units, may_be_more)},
      type_{make_type(random, unit, group_)},
      count_{(units + group_ - 1) / group_} {
  const long low = std::min(type_.true_lower(), 0L);
  const long high = std::max(type_.true_upper(), 0L) + std::max(count_ - 1, 0) * type_.extent;
  before_ = (margin - low + 15) / 16 * 16;
  bytes_.assign(static_cast<std::size_t>(before_ + high + margin), gap);
  MPI_Type_commit(&type_.type);
}

void side::make_absolute() {
  MPI_Aint address = 0;
  MPI_Get_address(origin(), &address);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  MPI_Type_create_hindexed(1, &count_, &address, type_.type, &made);
  MPI_Type_commit(&made);
  absolute_.emplace_back(0);
  absolute_.back().become(made, "absolute " + type_.text);
}

std::size_t side::elements_per_count() const {
  return type_.map.size() * static_cast<std::size_t>(absolute_.empty() ? 1 : count_);
}

std::byte* side::element(std::size_t number) {
  const std::size_t each = type_.map.size();
  return origin() + static_cast<long>(number / each) * type_.extent + type_.map[number % each].at;
}

void side::write(std::uint64_t stream, std::size_t elements, std::size_t first) {
  for (std::size_t i = 0; i < elements; ++i) {
    const basic_type& of = basic_types()[static_cast<std::size_t>(basic_of(first + i))];
    write_value(element(first + i), of, stream, i);
  }
}

void side::clear_padding(std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    const basic_type& of = basic_types()[static_cast<std::size_t>(basic_of(i))];
    std::fill(element(i) + of.value_bytes, element(i) + of.size, std::byte{});
  }
}

bool side::is_right(std::uint64_t stream, std::size_t elements) const {
  std::vector<std::byte> wanted(bytes_.size(), gap);
  const std::size_t each = type_.map.size();
  for (std::size_t i = 0; i < elements; ++i) {
    const item& of = type_.map[i % each];
    const long at = before_ + static_cast<long>(i / each) * type_.extent + of.at;
    write_value(wanted.data() + at, basic_types()[static_cast<std::size_t>(of.basic)], stream, i);
  }
  return wanted == bytes_;
}

}  // namespace differential
