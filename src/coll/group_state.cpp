#include "coll/group_state.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

#include "coll/run.hpp"
#include "core/door/door.hpp"
#include "weft/runtime.hpp"

namespace weft::coll {

// Of a runtime.
class own_groups {
 public:
  explicit own_groups(weft::runtime& of)
      : names{of.rank()},
        world{std::make_shared<group_state>(of, of.default_device(), group_name{}, nullptr,
                                            std::vector<std::uint32_t>{}, of.rank())} {}
  ~own_groups() {
    while (group_state* const each = ending_) {
      ending_ = each->next_ending_;
      delete each;
    }
  }
  own_groups(const own_groups&) = delete;
  own_groups& operator=(const own_groups&) = delete;

  [[nodiscard]] static own_groups& of(weft::runtime& owner) {
    static std::mutex making;
    const std::scoped_lock lock{making};
    std::shared_ptr<void>& kept = group_state::kept_of(owner);
    if (!kept) kept = std::make_shared<own_groups>(owner);
    return *static_cast<own_groups*>(kept.get());
  }

  /// Takes over a group whose last copy has ended, and destroys those whose collectives are complete.
  void end(group_state* last) noexcept {
    group_state* complete = nullptr;
    {
      const std::scoped_lock lock{ending_mutex_};
      last->next_ending_ = ending_;
      ending_ = last;
      for (group_state** at = &ending_; *at != nullptr;) {
        group_state* const each = *at;
        if (each->is_running()) {
          at = &each->next_ending_;
        } else {
          *at = each->next_ending_;
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
  [[nodiscard]] std::size_t ending() noexcept {
    const std::scoped_lock lock{ending_mutex_};
    std::size_t out = 0;
    for (const group_state* each = ending_; each != nullptr; each = each->next_ending_) ++out;
    return out;
  }

  group_names names;
  std::shared_ptr<group_state> world;

 private:
  std::mutex ending_mutex_;
  group_state* ending_ = nullptr;
};

static group_settings settings_of(core::runtime_state& runtime) noexcept {
  const bool is_crowded = core::door::has_ranks_beyond_processors(runtime);
  return {.algorithms = core::door::algorithms_of_groups(runtime),
          .is_checked = core::door::compares_calls(runtime),
          .is_crowded = is_crowded,
          .polls_before_wait = is_crowded ? 1U : 8U};
}

group_state::group_state(weft::runtime& owner, device& through, group_name name, group_names* names,
                         std::vector<std::uint32_t> members, std::uint32_t rank)
    : runtime_{&owner},
      through_{&through},
      engine_{core::door::engine_of_groups(*owner.state_)},
      name_{name},
      names_{names},
      settings_{settings_of(*owner.state_)},
      tags_{name},
      members_{std::move(members)},
      rank_{rank},
      size_{members_.empty() ? owner.size() : static_cast<std::uint32_t>(members_.size())} {
  if (names_ != nullptr) names_->begin(name_);
}

void group_state::find_nodes() {
  std::vector<std::uint32_t> by_member(size_);
  for (std::uint32_t member = 0; member < size_; ++member) by_member[member] = runtime_->node_of(world_rank(member));
  node_map found{by_member};
  if (found.has_two_levels()) nodes_ = std::make_unique<node_map>(std::move(found));
  knows_nodes_ = true;
}

group_state::~group_state() {
  if (names_ != nullptr) names_->end(name_);
}

std::shared_ptr<void>& group_state::kept_of(weft::runtime& of) { return core::door::kept_for_groups(*of.state_); }

bool group_state::is_running() const noexcept {
  return std::ranges::any_of(kept_, [](const auto& each) { return each->is_running(); });
}

core::refused_memory group_state::check_memory(const const_buffer_ref& of) const noexcept {
  return core::door::check_memory(*runtime_->state_, of.memory(), of.address(), of.bytes());
}

std::shared_ptr<group_state> group_state::world(weft::runtime& of) { return own_groups::of(of).world; }
group_names& group_state::names(weft::runtime& of) { return own_groups::of(of).names; }
std::size_t group_state::ending(weft::runtime& of) { return own_groups::of(of).ending(); }

std::shared_ptr<group_state> group_state::make(weft::runtime& of, device& through, group_name name,
                                               std::vector<std::uint32_t> members, std::uint32_t rank) {
  own_groups& all = own_groups::of(of);
  auto made = std::make_unique<group_state>(of, through, name, &all.names, std::move(members), rank);
  return {made.release(), [&all](group_state* last) { all.end(last); }};
}

}  // namespace weft::coll
