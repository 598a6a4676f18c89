// SPDX-License-Identifier: BSD-3-Clause
// Groups: which ranks they have, and how their members agree on a name.
#include "weft/group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "base/misuse.hpp"
#include "coll/group/group_names.hpp"
#include "coll/group/group_state.hpp"
#include "coll/group/group_store.hpp"
#include "weft/collectives.hpp"
#include "weft/runtime.hpp"

namespace weft {

namespace coll {

namespace {

// The arguments of one member of a split, which all members learn.
struct split_request {
  std::int64_t key;
  std::uint32_t colour;
  std::uint32_t has_colour;
};

// A step behind a receive is posted by the thread that took its message, on any device. In a runtime whose default
// device is one thread's own, one thread at a time does all of that.
device& device_of(const group_options& options, device& standard, const weft::runtime& runtime) {
  device* const named = named_device(options);
  device& out = named != nullptr ? *named : standard;
  if (&out.runtime() != &runtime)
    throw error{errc::invalid_argument, "a group: its device was made from another runtime"};
  if (!out.is_shared() && out.runtime().default_device().is_shared()) {
    throw error{
        errc::invalid_argument,
        "a group: its device is one thread's own, and collectives need a shared one: make it with {.shared = true}"};
  }
  return out;
}

// The members of `group` that `is_member` names, as ranks of the job, in the order of their numbers in it.
template <class Condition>
std::vector<std::uint32_t> members_with(const group_state& group, const Condition& is_member) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t member = 0; member < group.size(); ++member) {
    if (is_member(member)) out.push_back(member);
  }
  return out;
}

std::uint32_t position_of(std::uint32_t rank, std::span<const std::uint32_t> members) {
  return static_cast<std::uint32_t>(std::ranges::find(members, rank) - members.begin());
}

// The number that a leader suggests for its group. It is free again unless the group was made.
class suggested {
 public:
  explicit suggested(weft::runtime& runtime) : names_{group_store::instance(runtime).names()}, rank_{runtime.rank()} {}
  ~suggested() { withdraw(); }
  suggested(const suggested&) = delete;
  suggested& operator=(const suggested&) = delete;

  [[nodiscard]] group_names::suggestion next() {
    const group_names::suggestion out = names_.take();  // another one than the last, which lives yet
    withdraw();
    last_ = out;
    is_pending_ = true;
    return out;
  }
  // The group has the name from now on.
  void keep() noexcept { is_pending_ = false; }

 private:
  void withdraw() noexcept {
    if (is_pending_) names_.end({rank_, last_.number});
    is_pending_ = false;
  }

  group_names& names_;
  std::uint32_t rank_;
  group_names::suggestion last_;
  bool is_pending_ = false;
};

// Whether a group of this name, which its leader has used before, still lives here.
bool refuses(const group_state& group, const group_name& name, const group_names::suggestion& suggestion) {
  return suggestion.was_used != 0 && name.leader != group.runtime().rank() &&
         group_store::instance(group.runtime()).names().lives(name);
}

void check_leader(std::uint32_t rank) {
  if (rank < group_name::given_leader) return;
  throw error{errc::invalid_argument, fmt::format("a group: its first member is rank {}, and has to be below {}", rank,
                                                  group_name::given_leader)};
}

// A group of a name on which its members, ranks of the job, have agreed before.
std::shared_ptr<group_state> make_given(weft::runtime& runtime, weft::device& device, std::uint32_t given,
                                        std::vector<std::uint32_t> members, std::uint32_t rank) {
  const auto refuse = [&](const char* why) {
    throw error{errc::invalid_argument, fmt::format("a group of the given name {}: {}", given, why)};
  };
  if (given >= group_names_max) refuse("names are below 2147483648");
  const group_name name = group_name::given(given);
  group_store& store = group_store::instance(runtime);
  if (store.names().lives(name)) refuse("this rank has a group of that name, or its collectives are not complete");
  return store.make(runtime, device, name, std::move(members), rank);
}

// Makes a group of members of `group`, by their numbers there.
std::shared_ptr<group_state> make_given(const group_state& group, weft::device& device, std::uint32_t given,
                                        std::vector<std::uint32_t> members) {
  const std::uint32_t rank = position_of(group.rank(), members);
  for (std::uint32_t& each : members) each = group.world_rank(each);
  return make_given(group.runtime(), device, given, std::move(members), rank);
}

// The new group of these members of `group`, among them this one. The first of them suggests its name, which each
// member of `group` learns by an allgather. If any name was used before, all vote on their group's until no member
// refuses.
std::shared_ptr<group_state> agree(weft::group& parent, const group_state& group, std::vector<std::uint32_t> members,
                                   const group_options& options) {
  weft::device& device = device_of(options, group.device(), group.runtime());
  if (options.name) return members.empty() ? nullptr : make_given(group, device, *options.name, std::move(members));
  const std::uint32_t leader = members.empty() ? 0 : members.front();
  suggested mine{group.runtime()};
  group_names::suggestion now{};
  std::vector<group_names::suggestion> all(group.size());
  std::vector<std::uint32_t> votes(group.size());
  for (bool is_refused = true;;) {
    if (is_refused && !members.empty() && leader == group.rank()) now = mine.next();
    collective::allgather({&now, sizeof now}, all).run(parent);
    if (std::ranges::none_of(all, [](const auto& each) { return each.was_used != 0; })) break;
    const group_name name{group.world_rank(leader), all[leader].number};
    const std::uint32_t vote = !members.empty() && refuses(group, name, all[leader]) ? 1 : 0;
    collective::allgather({&vote, sizeof vote}, votes).run(parent);
    if (std::ranges::none_of(votes, [](std::uint32_t each) { return each != 0; })) break;
    is_refused = std::ranges::any_of(members, [&](std::uint32_t each) { return votes[each] != 0; });
  }
  if (members.empty()) return nullptr;
  const group_name name{group.world_rank(leader), all[leader].number};
  check_leader(name.leader);
  const std::uint32_t rank = position_of(group.rank(), members);
  for (std::uint32_t& each : members) each = group.world_rank(each);
  auto out = group_store::instance(group.runtime()).make(group.runtime(), device, name, std::move(members), rank);
  mine.keep();
  return out;
}

// The new group of all members of `group`. The first of them suggests its name, by a broadcast.
std::shared_ptr<group_state> agree_on_all(weft::group& parent, const group_state& group,
                                          std::vector<std::uint32_t> members, weft::device& device) {
  check_leader(group.world_rank(0));
  suggested mine{group.runtime()};
  group_names::suggestion suggestion{};
  std::vector<std::uint32_t> votes(group.size());
  for (;;) {
    if (group.rank() == 0) suggestion = mine.next();
    collective::broadcast({&suggestion, sizeof suggestion}).run(parent);
    if (suggestion.was_used == 0) break;
    const std::uint32_t vote = refuses(group, {group.world_rank(0), suggestion.number}, suggestion) ? 1 : 0;
    collective::allgather({&vote, sizeof vote}, votes).run(parent);
    if (std::ranges::none_of(votes, [](std::uint32_t each) { return each != 0; })) break;
  }
  auto out =
      group_store::instance(group.runtime())
          .make(group.runtime(), device, {group.world_rank(0), suggestion.number}, std::move(members), group.rank());
  mine.keep();
  return out;
}

std::string text_of(std::span<const std::uint32_t> ranks) {
  std::string out;
  for (const std::uint32_t each : ranks.first(std::min<std::size_t>(ranks.size(), 16)))
    out += fmt::format("{}{}", out.empty() ? "" : ", ", each);
  return ranks.size() > 16 ? out + ", ..." : out;
}

const group_state& named(const std::shared_ptr<group_state>& group, const char* call) {
  if (group != nullptr) return *group;
  throw error{
      errc::invalid_argument,
      fmt::format("group::{}: the group is none: it was never made, was moved from, or this rank is in none of a "
                  "split",
                  call)};
}

// A misuse in functions that can't throw ends the process.
const group_state& asked(const std::shared_ptr<group_state>& group) noexcept {
  if (group == nullptr) base::misuse("a group that is none was asked: is_valid() says whether it names a group");
  return *group;
}

void check_ranks(const weft::runtime& runtime, std::span<const std::uint32_t> ranks, std::uint32_t tag) {
  const auto refuse = [&](const std::string& why) {
    throw error{errc::invalid_argument, fmt::format("make_group of ranks {}: {}", text_of(ranks), why)};
  };
  if (tag >= group_tags_max) refuse(fmt::format("tag {} is too large; tags are below {}", tag, group_tags_max));
  std::vector<bool> seen(runtime.size());
  for (const std::uint32_t each : ranks) {
    if (each >= runtime.size())
      refuse(fmt::format("there is no rank {}; the job has ranks 0 to {}", each, runtime.size() - 1));
    if (seen[each]) refuse(fmt::format("rank {} is named twice", each));
    seen[each] = true;
  }
  if (!seen[runtime.rank()]) refuse(fmt::format("rank {}, which calls it, is none of them", runtime.rank()));
}

}  // namespace

}  // namespace coll

group runtime::world() { return group{coll::group_store::instance(*this).world()}; }

std::uint32_t group::size() const noexcept { return coll::asked(state_).size(); }
std::uint32_t group::rank() const noexcept { return coll::asked(state_).rank(); }
weft::device& group::device() const noexcept { return coll::asked(state_).device(); }

std::uint32_t group::world_rank(std::uint32_t member) const {
  static_cast<void>(coll::named(state_, "world_rank"));
  if (member < state_->size()) return state_->world_rank(member);
  throw error{errc::invalid_argument,
              fmt::format("group::world_rank: there is no member {}; the group has members 0 to {}", member,
                          state_->size() - 1)};
}

std::optional<std::uint32_t> group::member(std::uint32_t rank) const noexcept {
  const std::span<const std::uint32_t> members = coll::asked(state_).members();
  if (members.empty()) return rank < state_->size() ? std::optional{rank} : std::nullopt;
  const auto found = std::ranges::find(members, rank);
  if (found == members.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - members.begin());
}

void group::abandon() noexcept {
  if (state_ != nullptr) state_->abandon();
}

group group::split(std::optional<std::uint32_t> colour, std::int64_t key, const group_options& options) {
  const coll::group_state& state = coll::named(state_, "split");
  const coll::split_request mine{key, colour.value_or(0), colour.has_value()};
  std::vector<coll::split_request> requests(state.size());
  collective::allgather({&mine, sizeof mine}, requests).run(*this);
  std::vector<std::uint32_t> members = coll::members_with(state, [&](std::uint32_t member) {
    return colour && requests[member].has_colour != 0 && requests[member].colour == *colour;
  });
  std::ranges::stable_sort(members, {}, [&](std::uint32_t member) { return requests[member].key; });
  return group{coll::agree(*this, state, std::move(members), options)};
}

group group::dup(const group_options& options) {
  const coll::group_state& state = coll::named(state_, "dup");
  weft::device& device = coll::device_of(options, state.device(), state.runtime());
  std::vector<std::uint32_t> members(state.members().begin(), state.members().end());
  if (options.name)
    return group{coll::make_given(state.runtime(), device, *options.name, std::move(members), state.rank())};
  return group{coll::agree_on_all(*this, state, std::move(members), device)};
}

group group::by_node(const group_options& options) {
  const coll::group_state& state = coll::named(state_, "by_node");
  const std::uint32_t node = state.runtime().node_of(state.world_rank(state.rank()));
  std::vector<std::uint32_t> members = coll::members_with(
      state, [&](std::uint32_t member) { return state.runtime().node_of(state.world_rank(member)) == node; });
  return group{coll::agree(*this, state, std::move(members), options)};
}

group make_group(weft::runtime& runtime, std::span<const std::uint32_t> ranks, std::uint32_t tag,
                 const group_options& options) {
  coll::check_ranks(runtime, ranks, tag);
  weft::device& device = coll::device_of(options, runtime.default_device(), runtime);
  std::vector<std::uint32_t> members(ranks.begin(), ranks.end());
  const std::uint32_t rank = coll::position_of(runtime.rank(), members);
  if (options.name) return group{coll::make_given(runtime, device, *options.name, std::move(members), rank)};
  // A group that only makes this one, with a name of the library's own.
  const coll::group_name own{coll::group_name::own_leader, tag + 1};
  coll::group_list& list = coll::group_store::instance(runtime).list();
  group maker{std::make_shared<coll::group_state>(runtime, device, own, nullptr, list, members, rank)};
  group out{coll::agree_on_all(maker, *maker.state_, std::move(members), device)};
  // The next group of these ranks and this tag is made by messages of the same tags: none may overtake.
  collective::barrier().run(maker);
  return out;
}

group group::include(std::span<const std::uint32_t> members, std::uint32_t tag, const group_options& options) const {
  const coll::group_state& state = coll::named(state_, "include");
  std::vector<std::uint32_t> ranks;
  for (const std::uint32_t each : members) ranks.push_back(world_rank(each));
  return make_group(state.runtime(), ranks, tag,
                    {.device = &coll::device_of(options, state.device(), state.runtime()), .name = options.name});
}

}  // namespace weft
