// SPDX-License-Identifier: BSD-3-Clause
// Starts collectives: makes the shape that an algorithm needs from the buffers and options of the call, and runs it.
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
#include "coll/group_state.hpp"
#include "coll/run.hpp"
#include "coll/shape.hpp"
#include "coll/shape_of.hpp"
#include "coll/straight.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

using coll::group_state;
using coll::kept_run;
using coll::shape;

group_state& checked(const std::shared_ptr<group_state>& of, collective_operation which) {
  if (of == nullptr)
    coll::refuse_call(which,
                      "the group is none: it was never made, was moved from, or this rank is in none of a split");
  return *of;
}

// A run of the group's that is free, or a new one. A call looks at a few of them, one after the other around the list,
// so that thousands that are under way cost no more. Free ones that it can't use go if there are more than a few.
kept_run& free_run(group_state& in, const shape& of, const collective::parts& parts, std::string_view algorithm) {
  constexpr std::size_t few = 16;
  const coll::choice chosen = coll::choose(of, algorithm, in.settings().algorithms);
  auto& [kept, next] = in.kept();
  const std::size_t looks = std::min(kept.size(), few);
  for (std::size_t i = 0; i < looks; ++i) {
    if (next >= kept.size()) next = 0;
    if (!kept[next]->is_running() && kept[next]->is(*chosen.how, of, parts.how)) return *kept[next];
    ++next;
  }
  for (std::size_t at = next, i = 0; i < looks && kept.size() >= few; ++i) {
    at = (at != 0 ? std::min(at, kept.size()) : kept.size()) - 1;
    if (kept[at]->is_running()) continue;
    std::swap(kept[at], kept.back());
    kept.pop_back();
  }
  coll::log_choice(of, chosen);
  return *kept.emplace_back(std::make_unique<kept_run>(nullptr, in, *chosen.how, of, parts.how));
}

// Of a checked group: as `shape_of` and `free_run`. If this member refuses its arguments, it tells the others, which
// wait for its part.
kept_run& checked_run(group_state& in, const collective::parts& parts, std::string_view algorithm) {
  try {
    return free_run(in, coll::shape_of(parts, in), parts, algorithm);
  } catch (const error&) {
    auto& kept = in.kept().runs;
    std::erase_if(kept, [](const auto& each) { return each->tells_refusal() && !each->is_running(); });
    const auto& told = kept.emplace_back(std::make_unique<kept_run>(in, parts.operation));
    if (in.free_counter() == nullptr) in.free_counter() = std::make_unique<counter>(in.runtime());
    told->start(*in.free_counter(), nullptr, false);
    throw;
  }
}

}  // namespace

void collective::run(group& in, const collective_options& options) const {
  if (base::callback_scope::is_inside()) [[unlikely]]
    base::refuse_in_callback(name_of(parts_.operation).data());
  group_state& state = checked(in.state_, parts_.operation);
  if (state.settings().is_checked) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    kept_run& by = checked_run(state, parts_, options.algorithm);
    by.use(parts_.in, parts_.out);
    return by.run();
  }
  shape straight;
  if (coll::make_straight_shape(straight, parts_, state, options)) {
    if (state.is_first_straight(straight.operation)) coll::log_choice(straight, coll::choose(straight, {}, {}));
    return coll::straight::run(state, straight, parts_.in, parts_.out, parts_.how);
  }
  const shape of = coll::shape_of(parts_, state);
  kept_run& by = free_run(state, of, parts_, options.algorithm);
  by.use(parts_.in, parts_.out);
  by.run();
}

status collective::post(group& in, completion& local, const collective_options& options, void* context) const {
  group_state& state = checked(in.state_, parts_.operation);
  if (state.settings().is_checked) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    kept_run& by = checked_run(state, parts_, options.algorithm);
    by.use(parts_.in, parts_.out);
    by.start(local, context, options.allow_backlog_full);
    return status::posted(0);
  }
  const shape of = coll::shape_of(parts_, state);
  kept_run& by = free_run(state, of, parts_, options.algorithm);
  by.use(parts_.in, parts_.out);
  by.start(local, context, options.allow_backlog_full);
  return status::posted(0);
}

persistent_collective collective::keep(group& in, const collective_options& options) const {
  group_state& state = checked(in.state_, parts_.operation);
  const shape of = coll::shape_of(parts_, state);
  const coll::choice chosen = coll::choose(of, options.algorithm, state.settings().algorithms);
  coll::log_choice(of, chosen);
  auto made = std::make_unique<kept_run>(in.state_, state, *chosen.how, of, parts_.how);
  made->use(parts_.in, parts_.out);
  return persistent_collective{std::move(made), options.allow_backlog_full};
}

persistent_collective::persistent_collective(std::unique_ptr<kept_run> run, bool allow_backlog_full) noexcept
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
