// SPDX-License-Identifier: BSD-3-Clause
// Starts collectives: makes the arguments that an algorithm needs from the buffers and options of the call, and runs
// it.
#include "weft/collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/callback_scope.hpp"
#include "base/collective_names.hpp"
#include "coll/buffers.hpp"
#include "coll/checked.hpp"
#include "coll/choose.hpp"
#include "coll/direct.hpp"
#include "coll/group_state.hpp"
#include "coll/run.hpp"
#include "coll/shape.hpp"
#include "coll/shape_of.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

using coll::collective_args;
using coll::group_state;
using coll::persistent_run;

group_state& checked(const std::shared_ptr<group_state>& group, collective_operation which) {
  if (group == nullptr)
    coll::refuse_call(which,
                      "the group is none: it was never made, was moved from, or this rank is in none of a split");
  return *group;
}

// A run of the group's that is free, or a new one. A call looks at a few of them, one after the other around the list,
// so that thousands that are under way cost no more. Free ones that it can't use go if there are more than a few.
persistent_run& free_run(group_state& group, const collective_args& args, const collective::parts& call,
                         std::string_view algorithm) {
  constexpr std::size_t few = 16;
  const coll::choice chosen = coll::choose(args, algorithm, group.settings().algorithms);
  auto& [cached, next] = group.cache();
  const std::size_t looks = std::min(cached.size(), few);
  for (std::size_t i = 0; i < looks; ++i) {
    if (next >= cached.size()) next = 0;
    if (!cached[next]->is_running() && cached[next]->matches(*chosen.algorithm, args, call.how)) return *cached[next];
    ++next;
  }
  for (std::size_t index = next, i = 0; i < looks && cached.size() >= few; ++i) {
    index = (index != 0 ? std::min(index, cached.size()) : cached.size()) - 1;
    if (cached[index]->is_running()) continue;
    std::swap(cached[index], cached.back());
    cached.pop_back();
  }
  coll::log_choice(args, chosen);
  return *cached.emplace_back(std::make_unique<persistent_run>(nullptr, group, *chosen.algorithm, args, call.how));
}

// Does what `make_args` and `free_run` do, in a checked group. If this member refuses its arguments, it tells the
// others, which wait for its part.
persistent_run& checked_run(group_state& group, const collective::parts& call, std::string_view algorithm) {
  try {
    return free_run(group, coll::make_args(call, group), call, algorithm);
  } catch (const error&) {
    auto& cached = group.cache().runs;
    std::erase_if(cached, [](const auto& each) { return each->tells_refusal() && !each->is_running(); });
    const auto& refusal = cached.emplace_back(std::make_unique<persistent_run>(group, call.operation));
    if (group.free_counter() == nullptr) group.free_counter() = std::make_unique<counter>(group.runtime());
    refusal->start(*group.free_counter(), nullptr, false);
    throw;
  }
}

}  // namespace

void collective::run(group& group, const collective_options& options) const {
  if (base::callback_scope::is_inside()) [[unlikely]]
    base::refuse_in_callback(name_of(parts_.operation).data());
  group_state& state = checked(group.state_, parts_.operation);
  if (state.settings().is_checked) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    persistent_run& run = checked_run(state, parts_, options.algorithm);
    run.use(parts_.in, parts_.out);
    return run.run();
  }
  collective_args direct;
  if (coll::make_direct_args(direct, parts_, state, options)) {
    if (state.is_first_direct(direct.operation)) coll::log_choice(direct, coll::choose(direct, {}, {}));
    return coll::direct::run(state, direct, parts_.in, parts_.out, parts_.how);
  }
  const collective_args args = coll::make_args(parts_, state);
  persistent_run& run = free_run(state, args, parts_, options.algorithm);
  run.use(parts_.in, parts_.out);
  run.run();
}

status collective::post(group& group, completion& local, const collective_options& options, void* context) const {
  group_state& state = checked(group.state_, parts_.operation);
  if (state.settings().is_checked) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    persistent_run& run = checked_run(state, parts_, options.algorithm);
    run.use(parts_.in, parts_.out);
    run.start(local, context, options.allow_backlog_full);
    return status::posted(0);
  }
  const collective_args args = coll::make_args(parts_, state);
  persistent_run& run = free_run(state, args, parts_, options.algorithm);
  run.use(parts_.in, parts_.out);
  run.start(local, context, options.allow_backlog_full);
  return status::posted(0);
}

persistent_collective collective::keep(group& group, const collective_options& options) const {
  group_state& state = checked(group.state_, parts_.operation);
  const collective_args args = coll::make_args(parts_, state);
  const coll::choice chosen = coll::choose(args, options.algorithm, state.settings().algorithms);
  coll::log_choice(args, chosen);
  auto made = std::make_unique<persistent_run>(group.state_, state, *chosen.algorithm, args, parts_.how);
  made->use(parts_.in, parts_.out);
  return persistent_collective{std::move(made), options.allow_backlog_full};
}

persistent_collective::persistent_collective(std::unique_ptr<persistent_run> run, bool allow_backlog_full) noexcept
    : run_{std::move(run)}, allow_backlog_full_{allow_backlog_full} {}
persistent_collective::persistent_collective(persistent_collective&&) noexcept = default;
persistent_collective& persistent_collective::operator=(persistent_collective&&) noexcept = default;
persistent_collective::~persistent_collective() = default;

status persistent_collective::start(completion& local, void* context) {
  run_->start(local, context, allow_backlog_full_);
  return status::posted(0);
}
void persistent_collective::run() {
  base::refuse_in_callback("a collective");
  run_->run();
}
bool persistent_collective::is_running() const noexcept { return run_->is_running(); }

}  // namespace weft
