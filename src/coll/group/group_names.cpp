// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/group_names.hpp"

#include <fmt/format.h>

#include "weft/error.hpp"

namespace weft::coll {

group_names::suggestion group_names::take() {
  constexpr std::uint32_t numbers = 1U << group_name::number_bits;
  const std::scoped_lock lock{mutex_};
  for (std::uint32_t tried = 0; tried < numbers; ++tried) {
    const std::uint64_t count = next_++;
    const auto number = static_cast<std::uint32_t>(count & (numbers - 1));
    if (living_.insert(key({rank_, number})).second) return {number, count >= numbers ? 1U : 0U};
  }
  throw error{errc::invalid_state, fmt::format("a group: rank {} is the first member of {} groups, and there can't be "
                                               "more at a time: end some",
                                               rank_, numbers)};
}

bool group_names::lives(group_name name) const {
  const std::scoped_lock lock{mutex_};
  return living_.contains(key(name));
}

void group_names::begin(group_name name) {
  if (name.is_own()) return;
  const std::scoped_lock lock{mutex_};
  living_.insert(key(name));
}

void group_names::end(group_name name) noexcept {
  if (name.is_own()) return;
  const std::scoped_lock lock{mutex_};
  living_.erase(key(name));
}

void group_names::count_from(std::uint64_t number) noexcept {
  const std::scoped_lock lock{mutex_};
  next_ = number;
}

}  // namespace weft::coll
