// Groups: which ranks they have, and how their members agree on a name.
#include "weft/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "coll/group_state.hpp"
#include "coll/run.hpp"
#include "core/door/door.hpp"
#include "weft/collectives.hpp"
#include "weft/runtime.hpp"

namespace weft {

namespace coll {

namespace {

// Of a runtime.
struct own_groups {
  explicit own_groups(weft::runtime& of)
      : world{std::make_shared<group_state>(of, of.default_device(), group_name{}, std::vector<std::uint32_t>{},
                                            of.rank())} {}

  std::shared_ptr<group_state> world;
  std::atomic<std::uint32_t> next_number{0};
};

std::mutex making_own_groups;

}  // namespace

group_state::group_state(weft::runtime& owner, device& through, group_name name, std::vector<std::uint32_t> members,
                         std::uint32_t rank)
    : runtime_{&owner},
      through_{&through},
      engine_{core::door::engine_of_groups(*owner.state_)},
      tag_{(std::uint64_t{name.leader} << group_name::number_bits | name.number) << (label_bits + number_bits)},
      members_{std::move(members)},
      rank_{rank},
      size_{members_.empty() ? owner.size() : static_cast<std::uint32_t>(members_.size())},
      setting_{core::door::algorithms_of_groups(*owner.state_)},
      is_crowded_{core::door::has_ranks_beyond_processors(*owner.state_)} {}

group_state::~group_state() = default;

std::shared_ptr<group_state> group_state::world(weft::runtime& of) {
  const std::scoped_lock lock{making_own_groups};
  std::shared_ptr<void>& kept = core::door::kept_for_groups(*of.state_);
  if (!kept) kept = std::make_shared<own_groups>(of);
  return static_cast<own_groups*>(kept.get())->world;
}

core::refused_memory group_state::check_memory(const const_buffer_ref& of) const noexcept {
  return core::door::check_memory(*runtime_->state_, of.memory(), of.address(), of.bytes());
}

std::uint32_t group_state::next_group_number(weft::runtime& of) {
  static_cast<void>(world(of));  // makes them
  auto& all = *static_cast<own_groups*>(core::door::kept_for_groups(*of.state_).get());
  constexpr std::uint32_t mask = (1U << group_name::number_bits) - 1;
  // [group.number] relaxed: only the number counts.
  return all.next_number.fetch_add(1, std::memory_order_relaxed) & mask;
}

namespace {

// What a member says of itself before a split.
struct wish {
  std::int64_t key;
  std::uint32_t colour;
  std::uint32_t has_colour;
};

// A step behind a receive is posted by the thread that took its message, on any device.
device& device_of(const group_options& options, device& given, const weft::runtime& of) {
  device& out = options.through != nullptr ? *options.through : given;
  if (&out.runtime() != &of) throw error{errc::invalid_argument, "a group: its device was made from another runtime"};
  if (!out.is_shared()) {
    throw error{
        errc::invalid_argument,
        "a group: its device is one thread's own, and collectives need a shared one: make it with {.shared = true}"};
  }
  return out;
}

// The members of `in` that `is_member` names, as ranks of the job, in the order of their numbers in `in`.
template <class Condition>
std::vector<std::uint32_t> members_with(const group_state& in, const Condition& is_member) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t member = 0; member < in.size(); ++member) {
    if (is_member(member)) out.push_back(member);
  }
  return out;
}

// The new group of these members of `in`, among them this one. The first of them has chosen its name, which each member
// of `in` learns by an allgather.
std::shared_ptr<group_state> agree(weft::group& whole, const group_state& in, std::vector<std::uint32_t> members,
                                   const group_options& options) {
  const bool is_leader = !members.empty() && members.front() == in.rank();
  const std::uint32_t mine = is_leader ? group_state::next_group_number(in.runtime()) : 0;
  std::vector<std::uint32_t> numbers(in.size());
  collective::allgather({&mine, sizeof mine}, numbers).run(whole);
  if (members.empty()) return nullptr;
  const group_name name{in.world_rank(members.front()), numbers[members.front()]};
  const auto me = std::ranges::find(members, in.rank());
  const auto rank = static_cast<std::uint32_t>(me - members.begin());
  for (std::uint32_t& each : members) each = in.world_rank(each);
  return std::make_shared<group_state>(in.runtime(), device_of(options, in.through(), in.runtime()), name,
                                       std::move(members), rank);
}

std::string text_of(std::span<const std::uint32_t> ranks) {
  std::string out;
  for (const std::uint32_t each : ranks.first(std::min<std::size_t>(ranks.size(), 16)))
    out += fmt::format("{}{}", out.empty() ? "" : ", ", each);
  return ranks.size() > 16 ? out + ", ..." : out;
}

void check_ranks(const weft::runtime& of, std::span<const std::uint32_t> ranks, std::uint32_t tag) {
  const auto refuse = [&](const std::string& why) {
    throw error{errc::invalid_argument, fmt::format("make_group of ranks {}: {}", text_of(ranks), why)};
  };
  if (tag >= group_tags_max) refuse(fmt::format("tag {} is too large; tags are below {}", tag, group_tags_max));
  std::vector<bool> seen(of.size());
  for (const std::uint32_t each : ranks) {
    if (each >= of.size()) refuse(fmt::format("there is no rank {}; the job has ranks 0 to {}", each, of.size() - 1));
    if (seen[each]) refuse(fmt::format("rank {} is named twice", each));
    seen[each] = true;
  }
  if (!seen[of.rank()]) refuse(fmt::format("rank {}, which calls it, is none of them", of.rank()));
}

}  // namespace

}  // namespace coll

group runtime::world() { return group{coll::group_state::world(*this)}; }

std::uint32_t group::size() const noexcept { return state_->size(); }
std::uint32_t group::rank() const noexcept { return state_->rank(); }
device& group::through() const noexcept { return state_->through(); }

std::uint32_t group::world_rank(std::uint32_t member) const {
  if (member < state_->size()) return state_->world_rank(member);
  throw error{errc::invalid_argument,
              fmt::format("group::world_rank: there is no member {}; the group has members 0 to {}", member,
                          state_->size() - 1)};
}

std::optional<std::uint32_t> group::member(std::uint32_t rank) const noexcept {
  const std::span<const std::uint32_t> members = state_->members();
  if (members.empty()) return rank < state_->size() ? std::optional{rank} : std::nullopt;
  const auto found = std::ranges::find(members, rank);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - members.begin());
}

group group::split(std::optional<std::uint32_t> colour, std::int64_t key, const group_options& options) {
  const coll::group_state& in = *state_;
  const coll::wish mine{key, colour.value_or(0), colour.has_value()};
  std::vector<coll::wish> wishes(in.size());
  collective::allgather({&mine, sizeof mine}, wishes).run(*this);
  std::vector<std::uint32_t> members = coll::members_with(in, [&](std::uint32_t member) {
    return colour && wishes[member].has_colour != 0 && wishes[member].colour == *colour;
  });
  std::ranges::stable_sort(members, {}, [&](std::uint32_t member) { return wishes[member].key; });
  return group{coll::agree(*this, in, std::move(members), options)};
}

group group::dup(const group_options& options) {
  const coll::group_state& in = *state_;
  std::uint32_t number = in.rank() == 0 ? coll::group_state::next_group_number(in.runtime()) : 0;
  collective::broadcast({&number, sizeof number}).run(*this);
  std::vector<std::uint32_t> members(in.members().begin(), in.members().end());
  return group{std::make_shared<coll::group_state>(in.runtime(), coll::device_of(options, in.through(), in.runtime()),
                                                   coll::group_name{in.world_rank(0), number}, std::move(members),
                                                   in.rank())};
}

group group::by_node(const group_options& options) {
  const coll::group_state& in = *state_;
  const std::uint32_t node = in.runtime().node_of(in.world_rank(in.rank()));
  std::vector<std::uint32_t> members =
      coll::members_with(in, [&](std::uint32_t member) { return in.runtime().node_of(in.world_rank(member)) == node; });
  return group{coll::agree(*this, in, std::move(members), options)};
}

group make_group(weft::runtime& of, std::span<const std::uint32_t> ranks, std::uint32_t tag,
                 const group_options& options) {
  coll::check_ranks(of, ranks, tag);
  device& through = coll::device_of(options, of.default_device(), of);
  std::vector<std::uint32_t> members(ranks.begin(), ranks.end());
  const auto rank = static_cast<std::uint32_t>(std::ranges::find(members, of.rank()) - members.begin());
  std::uint32_t number = rank == 0 ? coll::group_state::next_group_number(of) : 0;
  {
    // A group for one broadcast, with a name of the library's own.
    const coll::group_name own{coll::group_name::own_leader, tag + 1};
    group one{std::make_shared<coll::group_state>(of, through, own, members, rank)};
    collective::broadcast({&number, sizeof number}).run(one);
  }
  const coll::group_name name{members.front(), number};
  return group{std::make_shared<coll::group_state>(of, through, name, std::move(members), rank)};
}

}  // namespace weft
