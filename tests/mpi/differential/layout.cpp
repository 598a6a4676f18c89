// SPDX-License-Identifier: BSD-3-Clause
#include "layout.hpp"

#include <algorithm>
#include <utility>

#include "basic_types.hpp"

namespace differential {

namespace {

const basic_type& basic(const item& of) { return basic_types()[static_cast<std::size_t>(of.basic)]; }

}  // namespace

layout::layout(int number) : map{{0, number}} {
  const basic_type& of = basic(map.front());
  type = of.type;
  text = of.name;
  extent = static_cast<long>(of.size);
  alignment = static_cast<long>(of.alignment);
}

layout::layout(layout&& other) noexcept
    : type{other.type},
      map{std::move(other.map)},
      lower{other.lower},
      extent{other.extent},
      alignment{other.alignment},
      text{std::move(other.text)},
      is_owned_{std::exchange(other.is_owned_, false)} {}

layout::~layout() {
  if (is_owned_) MPI_Type_free(&type);
}

long layout::true_lower() const {
  long out = map.front().at;
  for (const item& each : map) out = std::min(out, each.at);
  return out;
}

long layout::true_upper() const {
  long out = map.front().at;
  for (const item& each : map) out = std::max(out, each.at + static_cast<long>(basic(each).size));
  return out;
}

std::size_t layout::size() const {
  std::size_t out = 0;
  for (const item& each : map) out += basic(each).size;
  return out;
}

void layout::become(MPI_Datatype made, std::string how) {
  if (is_owned_) MPI_Type_free(&type);
  type = made;
  text = std::move(how);
  is_owned_ = true;
}

}  // namespace differential
