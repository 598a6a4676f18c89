// The completion graph: operations and functions in a partial order, started together (yan2025-lci, 4.2.6).
//
// Cost: making one allocates, and so does the first start after an edge was added, and each where there are graphs
// inside; starting is one pass over the nodes; each edge is one atomic read-modify-write, each node one, and two more
// for an operation that is posted. Between start and end a hook is made where something has to be tried again: a post,
// an inner graph that somebody else runs, an end that finds its object full.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "weft/completion.hpp"
#include "weft/status.hpp"

namespace weft {

class device;
namespace core {
class graph_state;
}

/// A node of a graph, by its number: the order in which they were added.
struct graph_node {
  std::uint32_t number = 0;  ///< from 0 on
};

/// Nodes that are functions, operations or other graphs, and edges that say what has to be complete before what.
///
/// A node whose predecessors are complete runs at once: in `start`, or in the thread that made progress and saw the
/// last of them complete, as a handler does. It may post and must not wait; long chains of nodes are run one after the
/// other, not one inside the other. A post that answers *retry* is tried again by progress on the graph's device, until
/// it goes through. An operation that fails is complete, too: the end tells the first error. Where a receive comes
/// before a post, the post is made by whichever thread has taken the message, on any device: it has to be on a shared
/// one.
///
/// **Lifetime**: not while it runs; that ends the process with a message. The runtime outlives it. **Source**:
/// yan2025-lci, 4.2.6 and 5.1.4.
class graph {
 public:
  /// `through` makes the progress that tries posts again, and outlives the graph. **Blocking**: never; allocates.
  explicit graph(device& through);
  /// Takes the nodes over; the other may then only be assigned to or go.
  graph(graph&&) noexcept;
  /// The same. The graph that was here must not be running.
  graph& operator=(graph&&) noexcept;
  ~graph();

  /// A node that calls `function`, and is complete when that returns. It must not throw: that ends the process.
  ///
  /// **Threads**: one at a time, for this and for what follows up to `start`. **Errors**: `invalid_state` while the
  /// graph runs.
  graph_node add(std::function<void()> function);

  /// A node that posts: `post(local)` makes one post with `local` as its completion object, and answers what that
  /// answered, and nothing else with `local`. The node is complete when the operation is: at once where it is *done*,
  /// with its signal where it is *posted*; *retry* means that `post` is called again later.
  graph_node add_post(std::function<status(completion& local)> post);

  /// A node that starts `inner`, and is complete when that has ended. Where somebody else has started `inner`, the node
  /// waits until that is over. **Errors**: `invalid_argument` where `inner` is this graph or contains it, or is another
  /// runtime's.
  graph_node add_graph(graph& inner);

  /// `after` runs when `before` is complete. **Errors**: `invalid_argument` for nodes that are not there or the same.
  void add_edge(graph_node before, graph_node after);

  /// Runs the graph once; `done` is signalled when all nodes are complete, with a record of `operation::graph` that has
  /// `context` and the first error of a node's. It may be started again from then on.
  ///
  /// **Blocking**: never. **Threads**: one at a time; inside a handler or hook as well. **Errors**: `invalid_state`
  /// while it runs; `invalid_argument` where edges make a circle, here or in a graph inside, and for an object of
  /// another runtime.
  void start(completion& done, void* context = nullptr);

  /// Whether it has been started and has not ended. Its object may still be about to be signalled then: only that
  /// signal says that the object may go. **Blocking**: never. **Threads**: any.
  [[nodiscard]] bool is_running() const noexcept;

  /// The record that the operation of `of` completed with in the last run, once: the message of a receive, say. Nothing
  /// for functions and for posts that were *done*. **Threads**: one at a time, between runs, or in a node behind `of`.
  /// **Errors**: `invalid_argument` for a node that is not there.
  [[nodiscard]] std::optional<completion_record> take(graph_node of);

  /// How many nodes it has.
  [[nodiscard]] std::uint32_t size() const noexcept;

 private:
  std::shared_ptr<core::graph_state> state_;  // shared with graphs that it is inside of
};

}  // namespace weft
