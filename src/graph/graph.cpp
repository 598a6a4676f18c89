// Starting a graph, running its nodes, and its end.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "base/callback_scope.hpp"
#include "base/leave_to_parent.hpp"
#include "base/misuse.hpp"
#include "core/runtime/runtime_state.hpp"
#include "graph/graph_state.hpp"
#include "weft/runtime.hpp"

namespace weft::core {
namespace {

constexpr const char* one_post_only =
    "a post of a graph used its completion object for something else than the one post whose answer it gave";

}  // namespace

// The nodes that a thread has to run, one after the other.
class ready_parts {
 public:
  /// Runs the parts that `fill(list)` adds, and what becomes ready by them, or leaves them to the caller further up
  /// that is running parts. None runs before `fill` has returned.
  template <class Fill>
  static void run(Fill fill) noexcept {
    if (current != nullptr) {
      fill(*current);
      return;
    }
    ready_parts mine;
    fill(mine);
    current = &mine;
    const base::callback_scope nodes_run;
    while (graph_part* const next = mine.first_) {
      mine.first_ = next->behind;
      if (mine.first_ == nullptr) mine.end_ = &mine.first_;
      next->whole_->fire(*next);
    }
    current = nullptr;
  }
  static void run(graph_part& part) noexcept {
    run([&](ready_parts& list) { list.add(part); });
  }

  void add(graph_part& part) noexcept {
    part.behind = nullptr;
    *end_ = &part;
    end_ = &part.behind;
  }

 private:
  static thread_local constinit ready_parts* current;  // of the thread: no fiber is suspended inside a node

  graph_part* first_ = nullptr;
  graph_part** end_ = &first_;
};
thread_local constinit ready_parts* ready_parts::current = nullptr;

completion::answer graph_part::signal(completion_record&& record) noexcept {
  if (record.error() != errc::none) {
    errc first = errc::none;
    // [graph.error] relaxed: [graph.half] and [graph.left] hand it on to the graph's end.
    whole_->error_.compare_exchange_strong(first, record.error(), std::memory_order_relaxed);
  }
  if (record_) base::misuse(one_post_only);
  record_.emplace(std::move(record));
  // [graph.half] acq_rel -> [graph.half]: the record, and the post's return; the later one goes on.
  const std::uint32_t left = halves_.fetch_sub(1, std::memory_order_acq_rel);
  if (left == 0) base::misuse(one_post_only);
  if (left == 1) whole_->complete(*this);
  return answer::taken;
}

graph_state::graph_state(device& through) : through_{&through}, end_{through.runtime(), *this, graph_part::kind::end} {}

void graph_state::check_idle(const char* call) const {
  if (!is_running()) return;
  throw error{errc::invalid_state,
              fmt::format("graph::{}: the graph is running; wait for the object that it signals at its end", call)};
}

graph_part& graph_state::at(graph_node which, const char* call) {
  if (which.number < parts_.size()) return parts_[which.number];
  throw error{errc::invalid_argument,
              fmt::format("graph::{}: there is no node {}, only {}", call, which.number, parts_.size())};
}

graph_part& graph_state::add(graph_part::kind kind) {
  check_idle("add");
  return parts_.emplace_back(through_->runtime(), *this, kind);
}

graph_node graph_state::add_function(std::function<void()> function) {
  if (!function) throw error{errc::invalid_argument, "graph::add: the function is empty"};
  add(graph_part::kind::function).function_ = std::move(function);
  return {size() - 1};
}

graph_node graph_state::add_post(std::function<status(completion&)> post) {
  if (!post) throw error{errc::invalid_argument, "graph::add_post: the function is empty"};
  add(graph_part::kind::post).post_ = std::move(post);
  return {size() - 1};
}

graph_node graph_state::add_graph(std::shared_ptr<graph_state> inner) {
  if (&inner->through_->runtime() != &through_->runtime()) {
    throw error{errc::invalid_argument, "graph::add_graph: the graph was made from another runtime"};
  }
  const std::vector<graph_state*> all = inner->with_inner();
  if (std::ranges::find(all, this) != all.end()) {
    throw error{errc::invalid_argument, "graph::add_graph: the graph would contain itself"};
  }
  add(graph_part::kind::graph).inner_ = std::move(inner);
  has_inner_ = true;
  return {size() - 1};
}

// This graph and all inside of it, each once.
std::vector<graph_state*> graph_state::with_inner() {
  std::vector<graph_state*> all{this};
  std::unordered_set<graph_state*> seen{this};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const graph_part& part : all[i]->parts_) {
      if (part.inner_ != nullptr && seen.insert(part.inner_.get()).second) all.push_back(part.inner_.get());
    }
  }
  return all;
}

void graph_state::add_edge(graph_node before, graph_node after) {
  check_idle("add_edge");
  graph_part& first = at(before, "add_edge");
  graph_part& second = at(after, "add_edge");
  if (&first == &second) {
    throw error{errc::invalid_argument, fmt::format("graph::add_edge: node {} can't wait for itself", before.number)};
  }
  first.successors_.push_back(after.number);
  ++second.predecessors_;
  ordered_.store(false, std::memory_order_relaxed);  // [own] by one thread at a time, before it starts the graph
}

// Orders the nodes as a run would; throws if some node would never be ready.
void graph_state::order() {
  if (ordered_.load(std::memory_order_relaxed)) return;  // [own]
  std::vector<std::uint32_t> awaited(parts_.size());
  std::vector<std::uint32_t> ready;
  for (std::uint32_t number = 0; number < size(); ++number) {
    awaited[number] = parts_[number].predecessors_;
    if (awaited[number] == 0) ready.push_back(number);
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (const std::uint32_t after : parts_[ready[i]].successors_) {
      if (--awaited[after] == 0) ready.push_back(after);
    }
  }
  if (ready.size() != parts_.size()) {
    std::string circle;
    for (std::uint32_t number = 0; number < size(); ++number) {
      if (awaited[number] != 0) circle += fmt::format("{}{}", circle.empty() ? "" : ", ", number);
    }
    throw error{errc::invalid_argument,
                fmt::format("graph::start: edges make a circle, so that these nodes would never run: {}", circle)};
  }
  ordered_.store(true, std::memory_order_relaxed);  // [own]
}

bool graph_state::try_start(completion& done, void* context) {
  if (&done.runtime() != &through_->runtime()) {
    throw error{errc::invalid_argument, "graph::start: the completion object was made from another runtime"};
  }
  // [graph.start] acquire <- [graph.end]: what the last run did.
  if (running_.exchange(true, std::memory_order_acquire)) return false;
  try {
    order();
  } catch (...) {
    // [graph.end] release -> [graph.idle], [graph.start]
    running_.store(false, std::memory_order_release);
    throw;
  }
  done_ = &done;
  context_ = context;
  operation_state::promise_signal(done);
  error_.store(errc::none, std::memory_order_relaxed);  // [own] as below
  left_.store(size(), std::memory_order_relaxed);       // [own] handed on with the first node
  for (graph_part& part : parts_) {
    part.record_.reset();
    part.awaited_.store(part.predecessors_, std::memory_order_relaxed);  // [own]
  }
  if (parts_.empty()) {
    ready_parts::run(end_);
    return true;
  }
  // From here on the graph may end, and be destroyed.
  ready_parts::run([&](ready_parts& list) {
    for (graph_part& part : parts_) {
      if (part.predecessors_ == 0) list.add(part);
    }
  });
  return true;
}

void graph_state::fire(graph_part& part) noexcept {
  switch (part.kind_) {
    case graph_part::kind::function: try { part.function_();
      } catch (...) {
        base::misuse("a function of a graph threw an exception, which nobody is there to catch: it must not throw");
      }
      complete(part);
      return;
    case graph_part::kind::post: fire_post(part); return;
    case graph_part::kind::graph: fire_graph(part); return;
    case graph_part::kind::end: fire_end(part); return;
  }
}

void graph_state::fire_post(graph_part& part) noexcept {
  part.halves_.store(2, std::memory_order_relaxed);  // [own] handed on with the post
  status answer = status::done();
  try {
    answer = part.post_(part);
  } catch (const std::exception& wrong) {
    base::misuse(
        fmt::format("a post of a graph threw an exception, which nobody is there to catch: {}", wrong.what()).c_str());
  } catch (...) {
    base::misuse("a post of a graph threw an exception, which nobody is there to catch");
  }
  // What was not posted signals nothing.
  if (!answer.is_posted() && operation_state::signals_to_come(part) != 0) base::misuse(one_post_only);
  if (answer.is_retry()) {
    retry(part);
  } else if (answer.is_done()) {
    complete(part);
    // [graph.half] acq_rel -> [graph.half]: the function has returned, and what it holds may go.
  } else if (part.halves_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    complete(part);
  }
}

void graph_state::fire_graph(graph_part& part) noexcept {
  part.halves_.store(1, std::memory_order_relaxed);  // [own] handed on with the start
  try {
    if (!part.inner_->try_start(part, nullptr)) retry(part);
  } catch (const std::exception& wrong) {
    base::misuse(wrong.what());
  }
}

// From here on the graph may be started again, and from the signal on destroyed. If the completion object is full, the
// signal waits without the graph.
void graph_state::fire_end(graph_part& /*part*/) noexcept {
  completion& done = *done_;
  weft::runtime& runtime = through_->runtime();
  detail::raw_record raw;
  raw.peer = runtime.rank();
  raw.opcode = operation::graph;
  raw.error = error_.load(std::memory_order_relaxed);  // [own] every node's end comes before
  raw.location = detail::payload_location::borrowed;
  raw.refer({nullptr, 0, nullptr, context_});
  // [graph.end] release -> [graph.idle], [graph.start]: what the nodes did.
  running_.store(false, std::memory_order_release);
  const auto tell = [&done, &runtime, raw] {
    completion_record record{raw};
    if (!operation_state::give_signal(done, record)) return hook_answer::no_progress;
    graph_part::signalled(runtime, &done);
    return hook_answer::done;
  };
  // To the default device, which lives as long as the runtime.
  if (tell() != hook_answer::done) runtime.default_device().add_hook(tell).detach();
}

void graph_state::complete(graph_part& part) noexcept {
  for (const std::uint32_t number : part.successors_) {
    graph_part& after = parts_[number];
    // [graph.edge] acq_rel -> [graph.edge]: what came before the node that is ready now.
    if (after.awaited_.fetch_sub(1, std::memory_order_acq_rel) == 1) ready_parts::run(after);
  }
  // [graph.left] acq_rel -> [graph.left]: what all nodes did.
  if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) ready_parts::run(end_);
}

void graph_state::retry(graph_part& part) noexcept {
  const std::shared_ptr<trials> all = trials_;
  device& through = *through_;
  // [graph.trials] acq_rel -> [graph.trials]: the thread that counts from 0 adds a new hook, after the last one's end.
  const bool is_first = all->count.fetch_add(1, std::memory_order_acq_rel) == 0;
  all->waiting.add(part);
  if (is_first) through.add_hook([all] { return try_again(*all); }).detach();
}

// A hook: repeats each post that waited; posts that are refused again wait for the next call.
hook_answer graph_state::try_again(trials& which) noexcept {
  std::uint32_t tried = 0;
  for (graph_part* part = which.waiting.take_all(); part != nullptr;) {
    graph_part* const next = part->behind;
    ++tried;
    ready_parts::run(*part);
    part = next;
  }
  // [graph.trials] acq_rel -> [graph.trials]
  const bool is_over = which.count.fetch_sub(tried, std::memory_order_acq_rel) == tried;
  return is_over ? hook_answer::done : hook_answer::no_progress;
}

std::optional<completion_record> graph_state::take(graph_node of) {
  return std::exchange(at(of, "take").record_, std::nullopt);
}

}  // namespace weft::core

namespace weft {

graph::graph(device& through) : state_{std::make_shared<core::graph_state>(through)} {}
graph::graph(graph&&) noexcept = default;
graph& graph::operator=(graph&& other) noexcept {
  graph old{std::move(*this)};
  state_ = std::move(other.state_);
  return *this;
}
graph::~graph() {
  if (state_ != nullptr && state_->is_copy()) {
    base::leave_to_parent(state_);
    return;
  }
  if (state_ != nullptr && state_->is_running()) {
    base::misuse("a graph is destroyed while it runs: wait for the object that it signals at its end");
  }
}

graph_node graph::add(std::function<void()> function) { return state_->add_function(std::move(function)); }
graph_node graph::add_post(std::function<status(completion&)> post) { return state_->add_post(std::move(post)); }
graph_node graph::add_graph(graph& inner) { return state_->add_graph(inner.state_); }
void graph::add_edge(graph_node before, graph_node after) { state_->add_edge(before, after); }

void graph::start(completion& done, void* context) {
  if (state_->is_copy()) base::refuse_to_child("a graph");
  // Circles inside are found here, and not where the node that starts them runs.
  if (state_->has_inner()) {
    for (core::graph_state* const each : state_->with_inner()) each->order();
  }
  if (!state_->try_start(done, context)) {
    throw error{errc::invalid_state,
                "graph::start: the graph is running; wait for the object that it signals at its end"};
  }
}

bool graph::is_running() const noexcept { return state_->is_running(); }
std::optional<completion_record> graph::take(graph_node of) { return state_->take(of); }
std::uint32_t graph::size() const noexcept { return state_->size(); }

}  // namespace weft
