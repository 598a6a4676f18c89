// Carries out the steps of a collective for a thread that waits: no graph, as no other thread takes part.
//
// Cost: a pass over the steps; each message is a record in a queue, and each edge a count. Nothing is allocated once
// the queue has grown to the messages that are under way together.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/group_state.hpp"
#include "coll/schedule.hpp"
#include "coll/step_buffers.hpp"
#include "weft/collectives.hpp"
#include "weft/completion_queue.hpp"

namespace weft::coll {

class direct_run {
 public:
  /// `steps` and `buffers` outlive it. **Errors**: std::bad_alloc.
  direct_run(group_state& in, const schedule& steps, step_buffers& buffers);
  direct_run(const direct_run&) = delete;
  direct_run& operator=(const direct_run&) = delete;

  /// Does all steps. `tag`: of their messages. **Blocking**: until they are complete. **Returns** the first error of an
  /// operation: then the other messages have been cancelled, and later steps not begun. **Errors**: what a post, or the
  /// function of a reduction, throws, after the same.
  [[nodiscard]] errc run(std::uint64_t tag, const reduction& by);

 private:
  struct progress {
    std::uint32_t waits_for = 0;  // steps
    bool is_posted = false;
    std::uint64_t ticket = 0;
  };

  void begin(std::uint32_t index, std::uint64_t tag, const reduction& by);
  void end(std::uint32_t index);
  void cancel_rest();
  void take_record();

  group_state& in_;
  const schedule& steps_;
  step_buffers& buffers_;
  std::vector<std::uint32_t> behind_;        // the steps behind each, by step
  std::vector<std::uint32_t> behind_begin_;  // in that list; one more than there are steps
  std::vector<progress> progress_;           // by step
  std::vector<std::uint32_t> ready_;         // steps in the order in which they may begin
  std::uint32_t posted_ = 0;                 // messages that are not complete
  errc failed_ = errc::none;
  completion_queue ends_;
};

}  // namespace weft::coll
