// SPDX-License-Identifier: BSD-3-Clause
// Waits of collectives, which reports of a rank in which nothing moves name.
#pragma once

#include <concepts>
#include <utility>

#include "coll/group/group_state.hpp"
#include "weft/collectives.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::coll {

/// The function that waits, as a library over Weft calls it if the group may be of one.
[[nodiscard]] inline const char* function_of(group_state& group, collective_operation which) noexcept {
  const detail::report_names* const library =
      core::door::report_names_of(group_state::runtime_state_of(group.runtime()));
  const bool may_be_of_library = group.members().empty() || group.numbers().name().is_given();
  return library != nullptr && may_be_of_library ? library->function(which) : name_of(which).data();
}

/// Waits as a collective of this operation, through the group's device, until `is_done()`, which signals of `object`
/// make true.
template <std::predicate Condition>
void wait_in(group_state& group, collective_operation which, const completion& object, Condition is_done) {
  static_cast<void>(detail::wait_as(function_of(group, which), group.device(), object, std::move(is_done)));
}

}  // namespace weft::coll
