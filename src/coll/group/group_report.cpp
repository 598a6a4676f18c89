// SPDX-License-Identifier: BSD-3-Clause
#include "coll/group/group_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>

#include "coll/group/group_state.hpp"
#include "weft/detail/report_names.hpp"

namespace weft::coll {

namespace {

constexpr std::size_t ranks_shown_max = 8;
constexpr std::size_t quiet_groups_shown_max = 4;

bool is_barrier_of_epoch(std::uint64_t number) noexcept {
  return number % number_window::epoch_numbers == number_window::epoch_numbers - 1;
}

// The words for one group, its members and its collectives.
class group_text {
 public:
  group_text(group_state& group, const detail::report_names* names) : group_{group}, names_{names} {
    const group_name name = group.numbers().name();
    const bool has_all = group.members().empty();
    const bool is_world = has_all && name.is_own();
    if (names_ != nullptr && (is_world || name.is_given())) {
      communicator_id_ = is_world ? names_->id_of_world() : name.given_name();
      name_ = names_->communicator(*communicator_id_);
      if (name_.empty()) communicator_id_.reset();
    }
    if (!name_.empty()) return;
    if (is_world) {
      name_ = "the group of all ranks";
    } else {
      name_ = has_all ? "a group of all ranks" : fmt::format("the group of ranks {}", list_of(group.members()));
    }
  }

  [[nodiscard]] const std::string& group() const noexcept { return name_; }
  [[nodiscard]] std::string operation(std::optional<collective_operation> which) const {
    if (!which) return "a collective";
    return communicator_id_ ? names_->function(*which) : std::string{name_of(*which)};
  }
  // Ranks of the job, as members of the communicator if it has a name.
  [[nodiscard]] std::string ranks(const std::set<std::uint32_t>& all) const {
    std::string out{all.size() == 1 ? "rank " : "ranks "};
    std::size_t shown = 0;
    for (const std::uint32_t each : all) {
      if (shown == ranks_shown_max) return out + ", ...";
      out += fmt::format("{}{}", shown++ == 0 ? "" : ", ",
                         communicator_id_ ? names_->member(*communicator_id_, each) : each);
    }
    return out;
  }
  // `broadcast (call 3)`: the last call of this rank.
  [[nodiscard]] std::string last_call() const {
    const std::uint64_t next = group_.numbers().next();
    const std::uint64_t last = is_barrier_of_epoch(next - 1) ? next - 2 : next - 1;
    return fmt::format("{} (call {})", operation(group_.numbers().operation_of(last)), count_of(last));
  }
  // Which call of the group it is, counted from 1: barriers of the library have numbers of their own, and in a checked
  // group a call has two.
  [[nodiscard]] std::uint64_t count_of(std::uint64_t number) const noexcept {
    const std::uint64_t index = number - number / number_window::epoch_numbers;
    return (group_.settings().is_checked ? index / 2 : index) + 1;
  }

 private:
  template <class Ranks>
  [[nodiscard]] static std::string list_of(const Ranks& all) {
    std::string out;
    for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), ranks_shown_max); ++i)
      out += fmt::format("{}{}", i == 0 ? "" : ", ", all[i]);
    return all.size() > ranks_shown_max ? out + ", ..." : out;
  }

  group_state& group_;
  const detail::report_names* names_;
  std::optional<std::uint32_t> communicator_id_;
  std::string name_;
};

}  // namespace

group_report::group_report(core::runtime_state& owner, group_list& groups) noexcept : owner_{owner}, groups_{groups} {
  core::door::describe_groups_by(owner_, this);
}
group_report::~group_report() {
  if (!copy_.is_copy()) core::door::describe_groups_by(owner_, nullptr);  // a copy may not wait, as group_list.hpp says
}

void group_report::describe(base::report& into, std::span<const core::unmatched_step> steps,
                            const detail::report_names* names) {
  std::vector<bool> is_described(steps.size());
  bool may_differ = false;
  std::size_t quiet_groups = 0;
  groups_.each([&](group_state& group) {
    calls found;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::optional<std::uint64_t> number = group.numbers().number_of(steps[i].tag);
      if (!number) continue;
      is_described[i] = true;
      (steps[i].is_receive ? found[*number].awaited : found[*number].sources).insert(steps[i].rank);
    }
    const group_text text{group, names};
    const std::uint64_t next = group.numbers().next();
    for (const auto& [number, each] : found) {
      const bool is_started = number < next || is_barrier_of_epoch(number);
      const std::string call_text =
          is_barrier_of_epoch(number)
              ? fmt::format("the library's own barrier in {}", text.group())
              : fmt::format("{} in {} (its call {})", text.operation(group.numbers().operation_of(number)),
                            text.group(), text.count_of(number));
      if (!each.awaited.empty()) {
        const bool is_one = each.awaited.size() == 1;
        into.add("{} waits for a message of {}, which {} not called it yet, or {} in it, too", call_text,
                 text.ranks(each.awaited), is_one ? "has" : "have", is_one ? "waits" : "wait");
      }
      may_differ = may_differ || !group.settings().is_checked;
      if (each.sources.empty()) continue;
      if (is_started) {
        into.add("{} has messages of {} that this rank does not receive yet", call_text, text.ranks(each.sources));
        continue;
      }
      const std::string others_called =
          fmt::format("{} {} made call {} in {}", text.ranks(each.sources), each.sources.size() == 1 ? "has" : "have",
                      text.count_of(number), text.group());
      if (next == 0) {
        into.add("{}, and this rank has made none", others_called);
      } else {
        into.add("{}, which this rank has not made; its last one was {}", others_called, text.last_call());
      }
    }
    // Another member may wait in a call that this one has ended, or has not come to.
    if (found.empty() && next != 0 && group.size() > 1 && ++quiet_groups <= quiet_groups_shown_max)
      into.add("no collective waits in {}; the last one of this rank was {}", text.group(), text.last_call());
  });
  std::set<std::uint32_t> others;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!is_described[i]) others.insert(steps[i].rank);
  }
  for (const std::uint32_t rank : others)
    into.add("rank {} has called a collective in a group that this rank has not made, or has ended", rank);
  if (may_differ) {
    into.add(
        "if members may call different collectives, or with different sizes: WEFT_CHECK=1 compares their calls and "
        "names both");
  }
}

}  // namespace weft::coll
