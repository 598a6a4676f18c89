// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/group_store.hpp"

#include <utility>

#include "weft/runtime.hpp"

namespace weft::coll {

group_store::group_store(weft::runtime& owner)
    : names_{owner.rank()},
      report_{group_state::runtime_state_of(owner), list_},
      world_{std::make_shared<group_state>(owner, owner.default_device(), group_name{}, nullptr, list_,
                                           std::vector<std::uint32_t>{}, owner.rank())} {}

group_store::~group_store() {
  while (group_state* const each = ending_) {
    ending_ = each->next_ending_;
    delete each;
  }
}

group_store& group_store::instance(weft::runtime& owner) {
  static std::mutex making;
  const std::scoped_lock lock{making};
  std::shared_ptr<void>& kept = core::door::kept_for_groups(group_state::runtime_state_of(owner));
  if (!kept) kept = std::make_shared<group_store>(owner);
  return *static_cast<group_store*>(kept.get());
}

std::shared_ptr<group_state> group_store::make(weft::runtime& owner, weft::device& device, group_name name,
                                               std::vector<std::uint32_t> members, std::uint32_t rank) {
  auto made = std::make_unique<group_state>(owner, device, name, &names_, list_, std::move(members), rank);
  return {made.release(), [this](group_state* last) { end(last); }};
}

// Takes over a group whose last copy has ended, and destroys those whose collectives are complete.
void group_store::end(group_state* last) noexcept {
  group_state* complete = nullptr;
  {
    const std::scoped_lock lock{ending_mutex_};
    last->next_ending_ = ending_;
    ending_ = last;
    for (group_state** link = &ending_; *link != nullptr;) {
      group_state* const each = *link;
      if (each->is_running()) {
        link = &each->next_ending_;
      } else {
        *link = each->next_ending_;
        each->next_ending_ = complete;
        complete = each;
      }
    }
  }
  while (group_state* const each = complete) {
    complete = each->next_ending_;
    delete each;
  }
}

std::size_t group_store::ending() noexcept {
  const std::scoped_lock lock{ending_mutex_};
  std::size_t out = 0;
  for (const group_state* each = ending_; each != nullptr; each = each->next_ending_) ++out;
  return out;
}

}  // namespace weft::coll
