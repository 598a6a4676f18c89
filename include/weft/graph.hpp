// SPDX-License-Identifier: BSD-3-Clause
// The completion graph: operations and functions in a partial order, started together (yan2025-lci, 4.2.6).
//
// Cost: making a graph allocates, and so do its first start, the first one after an edge was added if an edge leads to
// an earlier node, each start of a graph that has inner graphs, and a start before the last end's completion object had
// room for its signal. A start is one pass over the nodes. Each edge is one atomic read-modify-write, each node one,
// and each posted operation two more. A post that answered *retry* waits in the device's backlog, without allocation.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>

#include "weft/completion.hpp"
#include "weft/error.hpp"
#include "weft/status.hpp"

namespace weft {

class device;
namespace coll {
class persistent_run;
}
namespace core {
class graph_state;
}

/// Names a node of a graph.
struct graph_node {
  std::uint32_t number = 0;  ///< counts in the order in which the nodes were added, from 0 on
};

/// What becomes of the nodes behind a node that has failed.
enum class after_failure : std::uint8_t {
  run,   ///< they run: they have to look at what they use
  skip,  ///< they are skipped, and so is all behind them
};

/// Options of `graph`.
struct graph_options {
  weft::after_failure after_failure = weft::after_failure::run;  ///< what becomes of nodes behind a failed one
};

/// Nodes that are functions, operations or other graphs, and edges between them. A node runs once all nodes before it,
/// by edges, are complete.
///
/// A node whose predecessors are complete runs at once: in `start`, or, as a handler does, in the thread whose progress
/// completed the last predecessor. A node may post and must not wait. Nodes run one after the other, not nested: a long
/// chain needs no stack. If a post answers *retry*, progress on the graph's device tries it again until it succeeds. A
/// post behind a receive is made by the thread that took the message, on any device: it needs a shared device.
///
/// A node *fails* if its operation ends with an error, if its post or function throws a `std::exception`, or if the
/// graph inside it ends with an error. A failed node is complete, too: the record of the end has the first error. The
/// error of a node that threw is the code of a thrown `weft::error`, `out_of_memory` for a `std::bad_alloc`, and
/// `user_exception` for any other `std::exception`. An exception of another type ends the process.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: one at a time for one graph. **Errors**:
/// functions that build the graph throw `invalid_state` while it runs, and `std::bad_alloc`; others throw none. The
/// runtime must outlive the graph. **Source**: yan2025-lci, 4.2.6 and 5.1.4.
class graph {
 public:
  /// Progress on `dev` tries posts again; it must outlive the graph. **Blocking**: never; allocates.
  explicit graph(device& dev, const graph_options& options = {});
  template <class WriteDeviceAndMembersInOrderOf = graph_options>
  explicit graph(...) = delete;  // write a device, and members of graph_options in their order
  /// Takes the nodes over; afterwards the other graph may only be assigned to or destroyed.
  graph(graph&&) noexcept;
  /// Destroys this graph's nodes as the destructor does, and takes the other graph's nodes over. **Blocking**: as the
  /// destructor.
  graph& operator=(graph&&) noexcept;
  /// Abandons a graph that runs, and waits for its end: see `abandon`.
  ///
  /// **Blocking**: until the operations are complete that `abandon` can't cancel, which may need a peer's progress. It
  /// makes progress on the graph's device; operations on other devices need progress there. **Errors**: if the graph
  /// still runs after `abandon` and the destructor can't wait, as it is called inside a handler, a hook or a node, the
  /// process ends with a message; so it does after a second if an exception is leaving the graph's scope.
  ~graph();

  /// Adds a node that calls `function`, and is complete when `function` returns, or throws.
  ///
  /// **Errors**: `invalid_state` while the graph runs; `invalid_argument` for an empty function; `std::bad_alloc`.
  graph_node add(std::function<void()> function);
  template <class WriteFunctionOf = void()>
  graph_node add(...) = delete;  // a function that does not fit

  /// Adds a node that posts. `post(local)` makes one post with `local` as its completion object, returns the answer of
  /// that post, and does nothing else with `local`. The node is complete with its operation: at once after *done*, with
  /// the signal after *posted*. After *retry* the graph calls `post` again later. If `post` throws, the node fails; if
  /// it throws after its post, the node is complete once the operation is. **Errors**: as for `add`.
  graph_node add_post(std::function<status(completion& local)> post);
  template <class WriteFunctionOf = status(completion&)>
  graph_node add_post(...) = delete;  // a function that does not fit

  /// Adds a node that starts `inner`, and is complete when `inner` has ended. If `inner` is running already, the node
  /// waits for that end first. **Errors**: `invalid_state` while this graph runs; `invalid_argument` if `inner` is this
  /// graph, contains it, or is of another runtime; `std::bad_alloc`.
  graph_node add_graph(graph& inner);

  /// Adds an edge: `after` runs when `before` is complete. **Errors**: `invalid_state` while the graph runs;
  /// `invalid_argument` for a node that does not exist, and for an edge from a node to itself; `std::bad_alloc`.
  void add_edge(graph_node before, graph_node after);

  /// Runs the graph once. When all nodes are complete, `done` is signalled with a record of `operation::graph` that has
  /// `context` and the first error of a node. From then on the graph may be started again.
  ///
  /// **Blocking**: never; runs nodes that are ready. **Threads**: one at a time; also inside a handler or hook.
  /// **Errors**: `invalid_state` while it runs; `invalid_argument` if edges form a cycle, here or in an inner graph,
  /// and for an object of another runtime; `std::bad_alloc`.
  void start(completion& done, void* context = nullptr);

  /// Ends a run early: cancels the receives, sends and active messages that its nodes have posted, as `device::cancel`
  /// does, and skips the nodes that have not begun. The run ends, with the error `cancelled` if no node has failed
  /// before, once the operations under way are complete: other operations can't be cancelled. Graphs inside, which
  /// nodes of this one have started, are abandoned, too. Does nothing if the graph doesn't run.
  ///
  /// **Blocking**: never. Progress on the graph's device does what can't be done at once. **Threads**: any that may
  /// post on the graph's device; also inside a handler, hook or node.
  void abandon() noexcept;

  /// Whether it has been started and has not ended. After the end, the signal of `done` may be yet to come: destroy
  /// that object only after its signal. **Threads**: any.
  [[nodiscard]] bool is_running() const noexcept;

  /// Takes the record with which the operation of node `node` completed in the last run, such as the message of a
  /// receive. Nothing for functions, for posts that were *done*, for nodes that threw or were skipped, and if it was
  /// taken before. **Threads**: one at a time, between runs, or in a node behind `node`. **Errors**: `invalid_argument`
  /// for a node that does not exist.
  [[nodiscard]] std::optional<completion_record> take(graph_node node);

  /// The first error of a node in this run, or in the last one; `none` if no node has failed. A node sees the errors of
  /// the nodes before it. **Threads**: any.
  [[nodiscard]] errc first_error() const noexcept;

  /// The first exception that a node threw in the last run; null if none did. A graph inside keeps its own.
  /// **Threads**: one at a time, between runs.
  [[nodiscard]] std::exception_ptr exception() const noexcept;

  /// The number of nodes.
  [[nodiscard]] std::uint32_t size() const noexcept;

 private:
  friend class coll::persistent_run;
  // Used by collectives, as the functions of `graph_state`.
  void call_at_end(std::function<void()> function);
  void start_held(completion& done, void* context);
  void release_held(errc refused = errc::none) noexcept;
  void end() noexcept;

  std::shared_ptr<core::graph_state> state_;  // shared with graphs of which it is a node
};

}  // namespace weft
