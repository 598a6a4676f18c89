// SPDX-License-Identifier: BSD-3-Clause
// Starts collectives: makes the arguments that an algorithm needs from the buffers and options of the call, and a run.
#include "weft/collectives.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/callback_scope.hpp"
#include "coll/args/buffers.hpp"
#include "coll/args/collective_args.hpp"
#include "coll/args/set_args.hpp"
#include "coll/choose/choose.hpp"
#include "coll/group/group_state.hpp"
#include "coll/run/checked.hpp"
#include "coll/run/persistent_run.hpp"
#include "coll/run/run_cache.hpp"
#include "coll/run/short_collective.hpp"
#include "core/door/door.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

using coll::collective_args;
using coll::group_state;
using coll::persistent_run;
using coll::run_cache;

group_state& checked(const std::shared_ptr<group_state>& group, collective_operation which) {
  if (group == nullptr)
    coll::refuse_call(which,
                      "the group is none: it was never made, was moved from, or this rank is in none of a split");
  return *group;
}

void check_memory(const collective::parts& call, const group_state& group) {
  for (const const_buffer_ref& each : {call.input, const_buffer_ref{call.out}}) {
    if (coll::is_ordinary(each) && each.bytes() == 0) continue;
    const core::refused_memory found = group.check_memory(each);
    if (found.why != core::memory_refusal::none) [[unlikely]]
      coll::refuse_call(call.operation, fmt::format("{} (kind: {})", core::reason_of(found.why), found.kind));
  }
}

collective_args args_of(const collective::parts& call, group_state& group) {
  check_memory(call, group);
  collective_args args{.rank = group.rank(),
                       .size = group.size(),
                       .is_oversubscribed = group.settings().is_oversubscribed,
                       .nodes = group.nodes()};
  coll::set_args(args, call);
  return args;
}

// A run of the group's cache that is free, or a new one.
persistent_run& free_run(group_state& group, const collective_args& args, const collective::parts& call,
                         std::string_view algorithm) {
  const coll::choice chosen = coll::choose(args, algorithm, group.settings().algorithms);
  run_cache& cache = run_cache::instance(group);
  if (persistent_run* const found = cache.find(*chosen.algorithm, args, call.op)) return *found;
  auto made = std::make_unique<persistent_run>(nullptr, group, *chosen.algorithm, args, call.op);
  coll::log_choice(args, chosen);
  return cache.add(std::move(made));
}

// Does what `args_of` and `free_run` do, in a checked group. If this member refuses its arguments, it tells the others,
// which wait for its part.
persistent_run& checked_run(group_state& group, const collective::parts& call, std::string_view algorithm) {
  try {
    return free_run(group, args_of(call, group), call, algorithm);
  } catch (const error&) {
    run_cache& cache = run_cache::instance(group);
    cache.end_refusals();
    persistent_run& refusal = cache.add(std::make_unique<persistent_run>(group, call.operation));
    if (group.free_counter() == nullptr) group.free_counter() = std::make_unique<counter>(group.runtime());
    refusal.start(*group.free_counter(), nullptr, false);
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
    run.use(parts_.input, parts_.out);
    return run.run();
  }
  collective_args short_args;
  if (coll::short_collective::try_set_args(short_args, parts_, state, options)) {
    if (state.is_first_short(short_args.operation)) coll::log_choice(short_args, coll::choose(short_args, {}, {}));
    return coll::short_collective::run(state, short_args, parts_.input, parts_.out, parts_.op);
  }
  const collective_args args = args_of(parts_, state);
  persistent_run& run = free_run(state, args, parts_, options.algorithm);
  run.use(parts_.input, parts_.out);
  run.run();
}

status collective::post(group& group, completion& local, const collective_options& options, void* context) const {
  group_state& state = checked(group.state_, parts_.operation);
  if (state.settings().is_checked) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    persistent_run& run = checked_run(state, parts_, options.algorithm);
    run.use(parts_.input, parts_.out);
    run.start(local, context, options.allow_backlog_full);
    return status::posted(0);
  }
  const collective_args args = args_of(parts_, state);
  persistent_run& run = free_run(state, args, parts_, options.algorithm);
  run.use(parts_.input, parts_.out);
  run.start(local, context, options.allow_backlog_full);
  return status::posted(0);
}

persistent_collective collective::keep(group& group, const collective_options& options) const {
  group_state& state = checked(group.state_, parts_.operation);
  const collective_args args = args_of(parts_, state);
  const coll::choice chosen = coll::choose(args, options.algorithm, state.settings().algorithms);
  coll::log_choice(args, chosen);
  auto made = std::make_unique<persistent_run>(group.state_, state, *chosen.algorithm, args, parts_.op);
  made->use(parts_.input, parts_.out);
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
