// SPDX-License-Identifier: BSD-3-Clause
// The state of a completion graph.
//
// A node that becomes ready goes into the list of the thread that is running nodes, or opens a list. So a node that
// completes while its post is being called, or a whole graph inside another one, makes a list longer, not the stack.
//
// A run ends when `left_` is 0: it counts nodes that are not complete, and holds. A thread that abandons a run holds it
// meanwhile, so that the run can neither end nor be followed by the next one.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/intrusive_stack.hpp"
#include "core/door/door.hpp"
#include "graph/end_signal.hpp"
#include "weft/completion.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/device.hpp"
#include "weft/graph.hpp"

namespace weft::core {

class graph_state;

/// One node; its operation's completion object.
class graph_part final : public completion, public retry_entry {
 public:
  enum class kind : std::uint8_t { function, post, graph, end };

  graph_part(weft::runtime& owner, graph_state& whole, kind part_kind) noexcept
      : completion{owner}, whole_{&whole}, kind_{part_kind} {}

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;
  using completion::signalled;
  bool try_again() noexcept override;

 private:
  friend class graph_state;
  friend class ready_parts;

  graph_part* next_ready_ = nullptr;  // next in the list of parts that are ready
  graph_state* whole_;
  kind kind_;
  std::function<void()> function_;  // function of the end: may be empty
  std::function<status(completion&)> post_;
  std::shared_ptr<graph_state> inner_;
  std::vector<std::uint32_t> successors_;
  std::uint32_t predecessors_ = 0;

  // State of a run.
  std::atomic<std::uint32_t> awaited_{0};  // predecessors that are not complete
  std::atomic<std::uint32_t> halves_{0};   // halves of a post that is under way: its return and its signal
  std::atomic<bool> has_failed_{false};    // or was skipped
  std::atomic<bool> is_skipped_{false};    // a node before it has failed or was skipped
  std::atomic<std::uint64_t> ticket_{0};   // ticket of its operation, or of one that is complete
  std::optional<completion_record> record_;
};

/// What is known of the edges of a graph.
enum class known_edges : std::uint8_t {
  all_lead_on,  // edges lead to nodes that were added later, so that they make no circle
  unknown,      // an edge was added since `order`
  no_circle,
};

/// The first failures of a run.
struct failure_of_run {
  std::atomic<errc> error{errc::none};
  std::atomic<bool> has_thrown{false};
  std::exception_ptr exception;
};

class graph_state {
 public:
  graph_state(device& dev, const graph_options& options);
  graph_state(const graph_state&) = delete;
  graph_state& operator=(const graph_state&) = delete;

  [[nodiscard]] graph_part& add(graph_part::kind kind);
  graph_node add_function(std::function<void()> function);
  graph_node add_post(std::function<status(completion&)> post);
  graph_node add_graph(std::shared_ptr<graph_state> inner);
  void add_edge(graph_node before, graph_node after);

  /// Whether this is the copy in a child of fork(), whose parent may be running the graph.
  [[nodiscard]] bool is_copy() const noexcept { return copy_.is_copy(); }

  /// Throws where edges make a circle.
  void order();

  [[nodiscard]] bool has_inner() const noexcept { return has_inner_; }
  /// This graph and all inside of it, each once.
  [[nodiscard]] std::vector<graph_state*> with_inner();

  /// False: it is running. `is_held`: no node runs before `release_held`.
  [[nodiscard]] bool try_start(completion& done, void* context, bool is_held = false);
  /// Runs the nodes of a start that was held; or none of them, and the run ends with the error `refused`.
  void release_held(errc refused) noexcept;
  /// Calls `function` at each end, before the graph may be started again. It may not throw.
  void call_at_end(std::function<void()> function);
  [[nodiscard]] bool is_running() const noexcept {
    // [graph.idle] acquire <- [graph.end]: what the nodes did.
    return running_.load(std::memory_order_acquire);
  }
  /// Abandons the run, if there is one and, unless null, `for_part` has started it.
  void abandon(const graph_part* for_part) noexcept;
  /// Returns once it doesn't run any more.
  void wait() noexcept;
  [[nodiscard]] std::optional<completion_record> take(graph_node node);
  [[nodiscard]] std::exception_ptr exception() const noexcept { return failure_.exception; }
  [[nodiscard]] errc first_error() const noexcept {
    // [graph.seen] relaxed <- [graph.error]: [graph.edge] hands it on to the nodes behind.
    return failure_.error.load(std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(parts_.size()); }

 private:
  friend class graph_part;
  friend class ready_parts;

  // Cancels the receives of an abandoned run again and again, until all nodes are complete. It holds the run.
  class canceller final : public retry_entry {
   public:
    explicit canceller(graph_state& whole) noexcept : whole_{&whole} {}
    bool try_again() noexcept override;
    std::uint32_t tries = 0;

   private:
    graph_state* whole_;
  };

  void check_idle(const char* call) const;
  [[nodiscard]] graph_part& part_at(graph_node which, const char* call);
  [[nodiscard]] device_state& state_of_device() const noexcept;
  void reset() noexcept;

  // Starts one part that is ready. The run may end meanwhile. True: the part has not to be tried again.
  bool fire(graph_part& part) noexcept;
  bool fire_post(graph_part& part) noexcept;
  bool fire_graph(graph_part& part) noexcept;
  void fire_end() noexcept;
  void complete(graph_part& part) noexcept;

  void fail(graph_part& part, errc why) noexcept;
  // Inside a handler of that exception.
  void fail_by(graph_part& part, const std::exception& thrown) noexcept;

  [[nodiscard]] bool try_hold() noexcept;
  void leave() noexcept;
  void cancel_all() noexcept;

  device* device_;
  bool skips_;
  std::deque<graph_part> parts_;
  graph_part end_;
  canceller canceller_{*this};
  bool has_inner_ = false;
  std::atomic<known_edges> edges_{known_edges::all_lead_on};
  end_signals ends_;

  // State of a run.
  std::atomic<bool> running_{false};
  std::atomic<std::uint32_t> left_{0};
  std::atomic<bool> is_abandoned_{false};
  failure_of_run failure_;
  completion* done_ = nullptr;
  void* context_ = nullptr;
  detail::copy_mark copy_;
};

}  // namespace weft::core
