// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/group_state.hpp"

#include <utility>

#include "core/door/door.hpp"
#include "weft/runtime.hpp"

namespace weft::coll {

static group_settings settings_of(core::runtime_state& runtime) noexcept {
  const bool is_oversubscribed = core::door::has_ranks_beyond_processors(runtime);
  return {.algorithms = core::door::algorithms_of_groups(runtime),
          .is_checked = core::door::compares_calls(runtime),
          .is_oversubscribed = is_oversubscribed,
          .polls_before_wait = is_oversubscribed ? 1U : 8U};
}

group_state::group_state(weft::runtime& owner, weft::device& device, group_name name, group_names* names,
                         group_list& list, std::vector<std::uint32_t> members, std::uint32_t rank)
    : runtime_{&owner},
      device_{&device},
      engine_{core::door::engine_of_groups(*owner.state_)},
      name_{names, name},
      settings_{settings_of(*owner.state_)},
      members_{std::move(members)},
      rank_{rank},
      size_{members_.empty() ? owner.size() : static_cast<std::uint32_t>(members_.size())},
      numbers_{*this, name},
      entry_{list, *this} {}

void group_state::find_nodes() {
  std::vector<std::uint32_t> by_member(size_);
  for (std::uint32_t member = 0; member < size_; ++member) by_member[member] = runtime_->node_of(world_rank(member));
  node_map found{by_member};
  if (found.has_two_levels()) nodes_ = std::make_unique<node_map>(std::move(found));
  knows_nodes_ = true;
}

group_state::~group_state() = default;

core::runtime_state& group_state::runtime_state_of(weft::runtime& owner) noexcept { return *owner.state_; }

// Runs first: the last one enters the barrier before it ends.
bool group_state::is_running() const noexcept {
  return (runs_ != nullptr && runs_->is_running()) || numbers_.is_busy();
}

void group_state::abandon() noexcept {
  if (runs_ != nullptr) runs_->abandon();
}

core::refused_memory group_state::check_memory(const const_buffer_ref& buffer) const noexcept {
  return core::door::check_memory(*runtime_->state_, buffer.memory(), buffer.address(), buffer.bytes());
}

}  // namespace weft::coll
