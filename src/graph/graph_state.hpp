// The state of a completion graph.
//
// A node that becomes ready goes into the list of the thread that is running nodes, or opens a list. So a node that
// completes while its post is being called, or a whole graph inside another one, makes a list longer, not the stack.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/intrusive_stack.hpp"
#include "weft/completion.hpp"
#include "weft/device.hpp"
#include "weft/graph.hpp"

namespace weft::core {

class graph_state;

/// One node; its operation's completion object.
class graph_part final : public completion {
 public:
  enum class kind : std::uint8_t { function, post, graph, end };

  graph_part(weft::runtime& owner, graph_state& whole, kind part_kind) noexcept
      : completion{owner}, whole_{&whole}, kind_{part_kind} {}

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;
  using completion::signalled;

  graph_part* behind = nullptr;  // in the list of parts that are ready, or to be tried again

 private:
  friend class graph_state;
  friend class ready_parts;

  graph_state* whole_;
  kind kind_;
  std::function<void()> function_;
  std::function<status(completion&)> post_;
  std::shared_ptr<graph_state> inner_;
  std::vector<std::uint32_t> successors_;
  std::uint32_t predecessors_ = 0;

  std::atomic<std::uint32_t> awaited_{0};  // predecessors that are not complete
  std::atomic<std::uint32_t> halves_{0};   // of a post that is under way: its return and its signal
  std::optional<completion_record> record_;
};

class graph_state {
 public:
  explicit graph_state(device& through);
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

  /// False: it is running.
  [[nodiscard]] bool try_start(completion& done, void* context);
  [[nodiscard]] bool is_running() const noexcept {
    // [graph.idle] acquire <- [graph.end]: what the nodes did.
    return running_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::optional<completion_record> take(graph_node of);
  [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(parts_.size()); }

 private:
  friend class graph_part;
  friend class ready_parts;

  // Posts to be tried again. The graph may be destroyed when the last of them has succeeded, so this is not part of it.
  struct trials {
    std::atomic<std::uint32_t> count{0};
    base::intrusive_stack<graph_part> waiting;
  };
  static hook_answer try_again(trials& which) noexcept;

  void check_idle(const char* call) const;
  [[nodiscard]] graph_part& at(graph_node which, const char* call);

  // Of one part that is ready.
  void fire(graph_part& part) noexcept;
  void fire_post(graph_part& part) noexcept;
  void fire_graph(graph_part& part) noexcept;
  void fire_end(graph_part& part) noexcept;
  void complete(graph_part& part) noexcept;
  void retry(graph_part& part) noexcept;

  device* through_;
  std::deque<graph_part> parts_;
  graph_part end_;
  bool has_inner_ = false;
  std::atomic<bool> ordered_{true};  // no circle since the last edge
  std::atomic<bool> running_{false};
  std::atomic<std::uint32_t> left_{0};
  std::atomic<errc> error_{errc::none};
  completion* done_ = nullptr;
  void* context_ = nullptr;
  std::shared_ptr<trials> trials_ = std::make_shared<trials>();
  detail::copy_mark copy_;
};

}  // namespace weft::core
