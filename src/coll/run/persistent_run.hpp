// SPDX-License-Identifier: BSD-3-Clause
// A collective of a group: made once for its arguments and algorithm, and started many times. One that a thread waits
// for carries out its steps itself (blocking_run.hpp); a posted one is a graph, which is built for its first start.
//
// Cost of a start: a pass over the steps; each step of a posted one is a node of a graph (weft/graph.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "coll/args/collective_args.hpp"
#include "coll/group/deferred_start.hpp"
#include "coll/group/group_state.hpp"
#include "coll/run/blocking_run.hpp"
#include "coll/run/checked.hpp"
#include "coll/run/step_buffers.hpp"
#include "coll/schedule/algorithm.hpp"
#include "coll/schedule/schedule.hpp"
#include "weft/collectives.hpp"
#include "weft/graph.hpp"
#include "weft/synchronizer.hpp"

namespace weft::coll {

class persistent_run final : public deferred_start {
 public:
  /// `owner`: the group, if it is to live as long; null for a run in the group's cache. **Errors**: std::bad_alloc.
  persistent_run(std::shared_ptr<group_state> owner, group_state& group, const algorithm& algorithm,
                 const collective_args& args, const reduction& reduction);
  /// A run that tells the other members of a checked group that this one has refused the arguments of its call.
  persistent_run(group_state& group, operation refused);
  /// Ends a start that is under way early, as the end of a graph does.
  ~persistent_run();
  persistent_run(const persistent_run&) = delete;
  persistent_run& operator=(const persistent_run&) = delete;

  /// Whether it does this.
  [[nodiscard]] bool matches(const algorithm& algorithm, const collective_args& args,
                             const reduction& reduction) const noexcept;
  [[nodiscard]] bool is_running() const noexcept { return is_blocking_ || graph_.is_running(); }
  /// Whether it only tells others that this member has refused its arguments.
  [[nodiscard]] bool tells_refusal() const noexcept { return algorithm_ == nullptr; }
  [[nodiscard]] const group_state& group() const noexcept { return *group_; }

  /// **Errors**: std::bad_alloc, for other than ordinary memory.
  void use(const const_buffer_ref& input, const buffer_ref& output) { buffers_.use(input, output); }
  /// **Errors**: invalid_state while it runs; backlog_full where its number is not free, unless `allow_backlog_full` is
  /// false: then it starts when the number is; std::bad_alloc.
  void start(completion& done, void* context, bool allow_backlog_full);
  /// Starts it once its number is free, and waits. **Errors**: of an operation that failed.
  void run();

  void release(errc refused) noexcept override {
    if (refused != errc::none) numbers_.abandon();
    graph_.release_held(refused);
  }

 private:
  void build();
  void run_checked();
  void refuse_if_running() const;
  void build_checked();
  void take_numbers();
  [[nodiscard]] status send(const step& step, completion& local);
  [[nodiscard]] status receive(const step& step, completion& local);
  void reduce(const step& step);
  void copy(const step& step);
  // Whether a step before the one that asks has failed.
  [[nodiscard]] bool has_failed() const noexcept { return graph_.first_error() != errc::none; }

  std::shared_ptr<group_state> owner_;
  group_state* group_;
  const coll::algorithm* algorithm_;
  collective_args args_;
  weft::reduction reduction_;
  schedule steps_;
  step_buffers buffers_;
  std::optional<synchronizer> graph_end_;   // a thread that waits for the graph waits for this
  std::unique_ptr<blocking_run> blocking_;  // made for the first thread that waits
  bool is_blocking_ = false;                // a thread that waits carries it out
  bool is_built_ = false;                   // the graph
  std::unique_ptr<comparison> comparison_;  // null unless the group is checked
  std::uint64_t tag_ = 0;
  weft::graph graph_;
};

}  // namespace weft::coll
