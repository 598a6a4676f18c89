// SPDX-License-Identifier: BSD-3-Clause
// Carries out the steps of a collective for a thread that waits: no graph, as no other thread takes part.
//
// Cost: a pass over the steps; each message is a record in a queue, and each edge a count. Nothing is allocated once
// the queue has grown to the messages that are under way together.
#pragma once

#include <cstdint>
#include <exception>
#include <vector>

#include "coll/group/group_state.hpp"
#include "coll/run/step_buffers.hpp"
#include "coll/schedule/schedule.hpp"
#include "weft/collectives.hpp"
#include "weft/completion_queue.hpp"

namespace weft::coll {

class blocking_run {
 public:
  /// `steps` and `buffers` outlive it. **Errors**: std::bad_alloc.
  blocking_run(group_state& group, const schedule& steps, step_buffers& buffers);
  blocking_run(const blocking_run&) = delete;
  blocking_run& operator=(const blocking_run&) = delete;

  /// Does all steps of `which`. `tag`: of their messages. **Blocking**: until they are complete. **Returns** the first
  /// error of an operation. **Errors**: what a post, or the function of a reduction, has thrown first. Members that
  /// wait for messages behind such a step know of it (failed_message.hpp).
  [[nodiscard]] errc run(std::uint64_t tag, operation which, const reduction& reduction);

 private:
  // Steps that may begin, the first one found first.
  struct queue {
    std::vector<std::uint32_t> steps;
    std::size_t next = 0;

    [[nodiscard]] bool has_next() const noexcept { return next < steps.size(); }
    [[nodiscard]] std::uint32_t take() noexcept { return steps[next++]; }
    void clear() noexcept {
      steps.clear();
      next = 0;
    }
  };

  void begin_or_fail(std::uint32_t index, std::uint64_t tag, const reduction& reduction);
  [[nodiscard]] bool has_failed() const noexcept { return failed_ != errc::none || thrown_ != nullptr; }
  void begin(std::uint32_t index, std::uint64_t tag, const reduction& reduction);
  void end(std::uint32_t index) noexcept;
  void make_ready(std::uint32_t index) noexcept;
  void take_record(operation which);

  group_state& group_;
  const schedule& steps_;
  step_buffers& buffers_;
  std::vector<std::uint32_t> behind_;        // the steps behind each step
  std::vector<std::uint32_t> behind_begin_;  // each step's first one in that list, and the end of the list
  std::vector<std::uint32_t> waits_for_;     // the number of steps that each step waits for
  queue messages_;
  queue work_;                // reductions and copies
  std::uint32_t posted_ = 0;  // messages that are not complete
  errc failed_ = errc::none;
  std::exception_ptr thrown_;
  completion_queue ends_;
};

}  // namespace weft::coll
