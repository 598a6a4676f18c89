// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/persistent_run.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>
#include <vector>

#include "base/assertion.hpp"
#include "coll/group/group_wait.hpp"
#include "coll/run/failed_message.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

bool has_lists(const collective_args& args) noexcept {
  return !args.in_blocks.bytes.empty() || !args.out_blocks.bytes.empty();
}

// Lists of blocks are the user's, and may change: two arguments with lists are never equal.
bool are_same(const collective_args& a, const collective_args& b) noexcept {
  return a.operation == b.operation && a.root == b.root && a.block_bytes == b.block_bytes &&
         a.element_bytes == b.element_bytes && a.is_commutative == b.is_commutative && a.is_inplace == b.is_inplace &&
         a.root_has_list == b.root_has_list && !has_lists(a) && !has_lists(b);
}

[[noreturn]] void fail(const collective_args& args, const algorithm& algorithm, errc why, bool is_checked) {
  throw error{why, fmt::format("{} ({}): an operation with a member has failed: {}{}", name_of(args.operation),
                               algorithm.name, name_of(why), is_checked ? "" : hint_of_other_calls)};
}

schedule schedule_of(const algorithm& algorithm, const collective_args& args) {
  schedule out;
  algorithm.function(out, args);
  return out;
}

}  // namespace

persistent_run::persistent_run(std::shared_ptr<group_state> owner, group_state& group, const algorithm& algorithm,
                               const collective_args& args, const reduction& reduction)
    : owner_{std::move(owner)},
      group_{&group},
      algorithm_{&algorithm},
      args_{args},
      reduction_{reduction},
      steps_{schedule_of(algorithm, args)},
      buffers_{steps_},
      graph_{group.device()} {
  graph_.call_at_end([this] { numbers_.end(group_->numbers()); });
  if (group.settings().is_checked) {
    comparison_ = std::make_unique<comparison>(group, call_of(args, algorithm, reduction));
    build_checked();
  }
}

persistent_run::persistent_run(group_state& group, operation refused)
    : group_{&group}, algorithm_{nullptr}, args_{.operation = refused}, buffers_{steps_}, graph_{group.device()} {
  graph_.call_at_end([this] { numbers_.end(group_->numbers()); });
  is_built_ = true;
  comparison_ = std::make_unique<comparison>(group, refused_call(refused));
  static_cast<void>(comparison_->add_to(graph_));
}

// Members that have its messages yet to send or to receive use its numbers: no later collective may.
persistent_run::~persistent_run() {
  if (!graph_.is_running()) return;
  numbers_.abandon();
  if (group_->numbers().try_remove(*this)) graph_.release_held(errc::cancelled);
  group_->numbers().fail(errc::cancelled);
}

bool persistent_run::matches(const algorithm& algorithm, const collective_args& args,
                             const reduction& reduction) const noexcept {
  return algorithm_ == &algorithm && are_same(args_, args) && reduction_.combine == reduction.combine &&
         reduction_.context == reduction.context && reduction_.element_bytes == reduction.element_bytes &&
         reduction_.combine_higher == reduction.combine_higher;
}

void persistent_run::build() {
  is_built_ = true;
  for (const step& each : steps_.steps()) {
    graph_node made;
    switch (each.action) {
      case action::send: made = graph_.add_post([this, &each](completion& local) { return send(each, local); }); break;
      case action::receive:
        made = graph_.add_post([this, &each](completion& local) { return receive(each, local); });
        break;
      case action::reduce: made = graph_.add([this, &each] { reduce(each); }); break;
      case action::copy: made = graph_.add([this, &each] { copy(each); }); break;
    }
    for (const std::uint32_t before : steps_.before(each)) graph_.add_edge({before}, made);
  }
}

// Builds what `build` does, behind the comparison: steps do nothing if it has refused.
void persistent_run::build_checked() {
  is_built_ = true;
  const graph_node compared = comparison_->add_to(graph_);
  std::vector<graph_node> nodes, receives;
  std::vector<const step*> received;
  for (const step& each : steps_.steps()) {
    graph_node made;
    switch (each.action) {
      case action::send:
        made = graph_.add_post([this, &each](completion& local) {
          return comparison_->has_refused() ? status::done() : send(each, local);
        });
        break;
      case action::receive:
        made = graph_.add_post([this, &each](completion& local) {
          return comparison_->has_refused() ? status::done() : receive(each, local);
        });
        receives.push_back(made);
        received.push_back(&each);
        break;
      case action::reduce:
        made = graph_.add([this, &each] {
          if (!comparison_->has_refused()) reduce(each);
        });
        break;
      case action::copy:
        made = graph_.add([this, &each] {
          if (!comparison_->has_refused()) copy(each);
        });
        break;
    }
    if (steps_.before(each).empty()) graph_.add_edge(compared, made);
    for (const std::uint32_t before : steps_.before(each)) graph_.add_edge(nodes[before], made);
    nodes.push_back(made);
  }
  comparison_->refuse_other_sizes(graph_, receives, received);
}

// All messages are sent, also behind a step that has failed (failed_message.hpp).
status persistent_run::send(const step& step, completion& local) {
  const const_buffer_ref bytes = has_failed() ? failed_message(step.from.bytes) : buffers_.read(step);
  return group_->device().post_send(group_->world_rank(step.peer), bytes, local,
                                    {.tag = tag_ | step.label, .engine = group_->engine(), .allow_retry = false});
}

status persistent_run::receive(const step& step, completion& local) {
  return group_->device().post_recv(group_->world_rank(step.peer), buffers_.written(step), local,
                                    {.tag = tag_ | step.label, .engine = group_->engine(), .allow_retry = false});
}

void persistent_run::reduce(const step& step) {
  if (!has_failed()) buffers_.reduce(step, reduction_);
}

void persistent_run::copy(const step& step) {
  if (!has_failed()) buffers_.copy(step);
}

void persistent_run::take_numbers() {
  numbers_.take(group_->numbers(), args_.operation, comparison_ != nullptr);
  tag_ = group_->numbers().tag(numbers_.last());
  if (comparison_) comparison_->begin(group_->numbers().tag(numbers_.comparison()));
}

void persistent_run::refuse_if_running() const {
  if (!is_running()) return;
  throw error{errc::invalid_state,
              fmt::format("{}: the last start is under way; wait for its completion object", name_of(args_.operation))};
}

void persistent_run::start(completion& done, void* context, bool allow_backlog_full) {
  refuse_if_running();
  std::optional<only_thread> mine;
  if (comparison_) [[unlikely]]
    mine.emplace(*group_, args_.operation);
  if (!is_built_) build();
  group_numbers& numbers = group_->numbers();
  take_numbers();
  const bool is_deferred = !numbers.is_open(numbers_.last());
  try {
    if (!is_deferred) return graph_.start(done, context);
    if (allow_backlog_full || numbers.failure() != errc::none) numbers.refuse(name_of(args_.operation));
    graph_.start_held(done, context);
  } catch (...) {  // no step has begun
    numbers_.put_back(numbers);
    throw;
  }
  numbers.start_when_open(*this);
}

void persistent_run::run() {
  refuse_if_running();
  // While a fiber waits, others of its thread may start collectives of the group.
  struct at_work {
    explicit at_work(bool& flag) noexcept : is_at_work{flag} { is_at_work = true; }
    ~at_work() { is_at_work = false; }
    at_work(const at_work&) = delete;
    at_work& operator=(const at_work&) = delete;
    bool& is_at_work;
  } const mine{is_blocking_};
  if (comparison_) [[unlikely]]
    return run_checked();
  if (!blocking_) blocking_ = std::make_unique<blocking_run>(*group_, steps_, buffers_);
  const own_number number{group_->numbers(), args_.operation};
  const errc end = blocking_->run(number.tag(), args_.operation, reduction_);
  if (end != errc::none) fail(args_, *algorithm_, end, false);
}

void persistent_run::run_checked() {
  const only_thread mine{*group_, args_.operation};
  if (!graph_end_) graph_end_.emplace(group_->runtime());
  if (graph_end_->is_ready()) graph_end_->reset();
  take_numbers();
  if (!group_->numbers().is_open(numbers_.last())) group_->numbers().wait_until_open(numbers_.last());
  graph_.start(*graph_end_);
  wait_in(*group_, args_.operation, *graph_end_, [&] { return graph_end_->is_ready(); });
  const std::optional<completion_record> end = graph_end_->take();
  if (!end || end->error() == errc::none) return;
  // A function that has thrown, or calls that differ.
  if (const std::exception_ptr thrown = graph_.exception()) std::rethrow_exception(thrown);
  const bool is_told = end->error() == errc::truncated && comparison_->is_told_of_failure();
  fail(args_, *algorithm_, is_told ? errc::peer_failed : end->error(), true);
}

}  // namespace weft::coll
