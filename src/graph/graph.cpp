// SPDX-License-Identifier: BSD-3-Clause
// Starting a graph, running its nodes, and its end.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <unordered_set>
#include <utility>

#include "base/assertion.hpp"
#include "base/callback_scope.hpp"
#include "base/exception_text.hpp"
#include "base/leave_to_parent.hpp"
#include "base/log.hpp"
#include "base/misuse.hpp"
#include "core/door/door.hpp"
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
  /// Runs the parts that `fill(list)` adds, and parts that become ready by them, or leaves them to the caller further
  /// up that is running parts. None runs before `fill` has returned. **Returns** whether a part has run that has not to
  /// be tried again.
  template <class Fill>
  static bool run(Fill fill) noexcept {
    if (current != nullptr) {
      fill(*current);
      return false;
    }
    ready_parts mine;
    fill(mine);
    current = &mine;
    const base::callback_scope nodes_run;
    bool has_moved = false;
    while (graph_part* const next = mine.first_) {
      mine.first_ = next->next_ready_;
      if (mine.first_ == nullptr) mine.end_ = &mine.first_;
      const running_callback by_device{next->whole_->state_of_device()};
      has_moved |= next->whole_->fire(*next);
    }
    current = nullptr;
    return has_moved;
  }
  static bool run(graph_part& part) noexcept {
    return run([&](ready_parts& list) { list.add(part); });
  }

  void add(graph_part& part) noexcept {
    part.next_ready_ = nullptr;
    *end_ = &part;
    end_ = &part.next_ready_;
  }

 private:
  static thread_local constinit ready_parts* current;  // variable of the thread: no fiber is suspended inside a node

  graph_part* first_ = nullptr;
  graph_part** end_ = &first_;
};
thread_local constinit ready_parts* ready_parts::current = nullptr;

completion::answer graph_part::signal(completion_record&& record) noexcept {
  if (record.error() != errc::none) whole_->fail(*this, record.error());
  if (record_) base::misuse(one_post_only);
  record_.emplace(std::move(record));
  // [graph.half] acq_rel -> [graph.half]: the record, and the post's return; the thread of the later one completes the
  // node.
  const std::uint32_t left = halves_.fetch_sub(1, std::memory_order_acq_rel);
  if (left == 0) base::misuse(one_post_only);
  if (left == 1) whole_->complete(*this);
  return answer::taken;
}

bool graph_part::try_again() noexcept { return ready_parts::run(*this); }

graph_state::graph_state(device& dev, const graph_options& options)
    : device_{&dev},
      skips_{options.after_failure == after_failure::skip},
      end_{dev.runtime(), *this, graph_part::kind::end} {}

device_state& graph_state::state_of_device() const noexcept { return *device_->state_; }

void graph_state::check_idle(const char* call) const {
  if (!is_running()) return;
  throw error{errc::invalid_state,
              fmt::format("graph::{}: the graph is running; wait for the object that it signals at its end", call)};
}

graph_part& graph_state::part_at(graph_node which, const char* call) {
  if (which.number < parts_.size()) return parts_[which.number];
  throw error{errc::invalid_argument,
              fmt::format("graph::{}: there is no node {}, only {}", call, which.number, parts_.size())};
}

graph_part& graph_state::add(graph_part::kind kind) {
  check_idle("add");
  return parts_.emplace_back(device_->runtime(), *this, kind);
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
  if (&inner->device_->runtime() != &device_->runtime()) {
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
  graph_part& first = part_at(before, "add_edge");
  graph_part& second = part_at(after, "add_edge");
  if (&first == &second) {
    throw error{errc::invalid_argument, fmt::format("graph::add_edge: node {} can't wait for itself", before.number)};
  }
  first.successors_.push_back(after.number);
  ++second.predecessors_;
  // Called by one thread at a time, before it starts the graph.
  if (before.number > after.number || edges_.load(std::memory_order_relaxed) != known_edges::all_lead_on)  // [own]
    edges_.store(known_edges::unknown, std::memory_order_relaxed);                                         // [own]
}

// Orders the nodes as a run would; throws if some node would never be ready.
void graph_state::order() {
  if (edges_.load(std::memory_order_relaxed) != known_edges::unknown) return;  // [own]
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
  edges_.store(known_edges::no_circle, std::memory_order_relaxed);  // [own]
}

void graph_state::call_at_end(std::function<void()> function) {
  check_idle("call_at_end");
  end_.function_ = std::move(function);
}

bool graph_state::try_start(completion& done, void* context, bool is_held) {
  if (&done.runtime() != &device_->runtime()) {
    throw error{errc::invalid_argument, "graph::start: the completion object was made from another runtime"};
  }
  // [graph.start] acquire <- [graph.end]: the writes of the last run.
  if (running_.exchange(true, std::memory_order_acquire)) return false;
  try {
    order();
    ends_.prepare();
  } catch (...) {
    // [graph.end] release -> [graph.idle], [graph.start]
    running_.store(false, std::memory_order_release);
    throw;
  }
  done_ = &done;
  context_ = context;
  promise::make(done);
  reset();
  // [graph.begin] release -> [graph.hold]: the run, for a thread that abandons it.
  left_.store(size(), std::memory_order_release);
  if (!is_held) release_held(errc::none);
  return true;
}

void graph_state::release_held(errc refused) noexcept {
  if (refused != errc::none) {
    errc first = errc::none;
    // [graph.error] relaxed -> [graph.seen]: [graph.left] hands it on to the graph's end.
    failure_.error.compare_exchange_strong(first, refused, std::memory_order_relaxed);
    // [graph.abandon] relaxed: the nodes run in this thread, and are skipped.
    is_abandoned_.store(true, std::memory_order_relaxed);
  }
  if (parts_.empty()) {
    ready_parts::run(end_);
    return;
  }
  // The graph may end, and be destroyed, from here on.
  ready_parts::run([&](ready_parts& list) {
    for (graph_part& part : parts_) {
      if (part.predecessors_ == 0) list.add(part);
    }
  });
}

void graph_state::reset() noexcept {
  WEFT_ASSERT_CHECKED(is_running());
  failure_.error.store(errc::none, std::memory_order_relaxed);  // [own] as below
  failure_.has_thrown.store(false, std::memory_order_relaxed);  // [own]
  is_abandoned_.store(false, std::memory_order_relaxed);        // [own]
  failure_.exception = nullptr;
  for (graph_part& part : parts_) {
    part.record_.reset();
    part.has_failed_.store(false, std::memory_order_relaxed);            // [own]
    part.is_skipped_.store(false, std::memory_order_relaxed);            // [own]
    part.ticket_.store(0, std::memory_order_relaxed);                    // [own]
    part.awaited_.store(part.predecessors_, std::memory_order_relaxed);  // [own]
  }
}

bool graph_state::fire(graph_part& part) noexcept {
  if (part.kind_ == graph_part::kind::end) {
    fire_end();
    return true;
  }
  // [graph.skip] relaxed: [graph.edge] has handed it on.
  const bool is_skipped = part.is_skipped_.load(std::memory_order_relaxed);
  // [graph.abandoned] relaxed: if this is missed, the node runs, and its operation is cancelled later.
  if (is_skipped || is_abandoned_.load(std::memory_order_relaxed)) {
    // [graph.failed] relaxed: read by this thread.
    part.has_failed_.store(true, std::memory_order_relaxed);
    complete(part);
    return true;
  }
  switch (part.kind_) {
    case graph_part::kind::post: return fire_post(part);
    case graph_part::kind::graph: return fire_graph(part);
    case graph_part::kind::function: try { part.function_();
      } catch (const std::exception& thrown) {
        fail_by(part, thrown);
      } catch (...) {
        base::misuse("a function of a graph threw an exception that is no std::exception, which no record can name");
      }
      break;
    case graph_part::kind::end: break;
  }
  complete(part);
  return true;
}

bool graph_state::fire_post(graph_part& part) noexcept {
  part.halves_.store(2, std::memory_order_relaxed);  // [own] handed on with the post
  const std::uint32_t promised = promise::made_here(part);
  status answer = status::done();
  try {
    answer = part.post_(part);
  } catch (const std::exception& thrown) {
    fail_by(part, thrown);
    // An operation that it had posted before it threw signals all the same.
    if (promise::made_here(part) != promised) answer = status::posted(0);
  } catch (...) {
    base::misuse("a post of a graph threw an exception that is no std::exception, which no record can name");
  }
  // An operation that was not posted signals nothing.
  if (!answer.is_posted() && promise::open(part) != 0) base::misuse(one_post_only);
  if (answer.is_retry()) {
    door::try_again(state_of_device(), part);
    return false;
  }
  if (answer.is_done()) {
    complete(part);
    return true;
  }
  // [graph.ticket] relaxed -> [graph.cancel]: of an operation that is known by its ticket alone.
  part.ticket_.store(answer.ticket(), std::memory_order_relaxed);
  // [graph.half] acq_rel -> [graph.half]: the function has returned, and the objects that it holds may go.
  if (part.halves_.fetch_sub(1, std::memory_order_acq_rel) == 1) complete(part);
  return true;
}

bool graph_state::fire_graph(graph_part& part) noexcept {
  part.halves_.store(1, std::memory_order_relaxed);  // [own] handed on with the start
  try {
    if (part.inner_->try_start(part, nullptr)) return true;
  } catch (const std::exception& thrown) {
    fail_by(part, thrown);
    complete(part);
    return true;
  }
  door::try_again(state_of_device(), part);
  return false;
}

// The graph may be started again from here on, and from the signal on destroyed. If the completion object is full, the
// signal waits without the graph, at the default device, which lives as long as the runtime.
void graph_state::fire_end() noexcept {
  if (end_.function_) end_.function_();
  completion& done = *done_;
  weft::runtime& runtime = device_->runtime();
  const completion* const end = &end_;
  device_state& standard = door::default_device_of(state_of_device());
  end_signal& signal = ends_.take();
  const std::shared_ptr<shared_by_ends> shared = ends_.shared();
  detail::raw_record raw;
  raw.peer = runtime.rank();
  raw.opcode = operation::graph;
  raw.error = failure_.error.load(std::memory_order_relaxed);  // [own] every node has ended before
  raw.location = detail::payload_location::borrowed;
  raw.refer({nullptr, 0, nullptr, context_});
  // [graph.giving] relaxed: [graph.end] hands it on.
  shared->giving.fetch_add(1, std::memory_order_relaxed);
  // [graph.end] release -> [graph.idle], [graph.start]: the nodes' writes.
  running_.store(false, std::memory_order_release);
  signal.give(done, raw, standard, shared);
  // [graph.given] release -> [graph.given_now]: the signal, or that it waits.
  shared->giving.fetch_sub(1, std::memory_order_release);
  graph_part::signalled(runtime, end);  // a thread may wait in the graph's destructor
}

void graph_state::complete(graph_part& part) noexcept {
  // [graph.failed] relaxed: [graph.half] hands it on, or this thread has written it.
  const bool skips = skips_ && part.has_failed_.load(std::memory_order_relaxed);
  for (const std::uint32_t number : part.successors_) {
    graph_part& after = parts_[number];
    // [graph.skip] relaxed: [graph.edge] hands it on.
    if (skips) after.is_skipped_.store(true, std::memory_order_relaxed);
    // [graph.edge] acq_rel -> [graph.edge]: the writes of the nodes before the one that is ready now.
    const std::uint32_t before = after.awaited_.fetch_sub(1, std::memory_order_acq_rel);
    WEFT_ASSERT_CHECKED(before != 0);
    if (before == 1) ready_parts::run(after);
  }
  leave();
}

void graph_state::leave() noexcept {
  // [graph.left] acq_rel -> [graph.left]: the writes of all nodes.
  const std::uint32_t before = left_.fetch_sub(1, std::memory_order_acq_rel);
  WEFT_ASSERT_CHECKED(before != 0);
  if (before == 1) ready_parts::run(end_);
}

void graph_state::fail(graph_part& part, errc why) noexcept {
  errc first = errc::none;
  // [graph.error] relaxed -> [graph.seen]: [graph.half] and [graph.left] hand it on to the graph's end.
  failure_.error.compare_exchange_strong(first, why, std::memory_order_relaxed);
  // [graph.failed] relaxed: [graph.half] hands it on, or this thread completes the node.
  part.has_failed_.store(true, std::memory_order_relaxed);
}

void graph_state::fail_by(graph_part& part, const std::exception& thrown) noexcept {
  errc why = errc::user_exception;
  if (const auto* const known = dynamic_cast<const error*>(&thrown); known != nullptr && known->code() != errc::none) {
    why = known->code();
  } else if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr) {
    why = errc::out_of_memory;
  }
  // [graph.thrown] relaxed: decides which node writes the exception; [graph.left] hands it on.
  if (!failure_.has_thrown.exchange(true, std::memory_order_relaxed)) failure_.exception = std::current_exception();
  fail(part, why);
}

// Keeps the run from its end; false if there is none.
bool graph_state::try_hold() noexcept {
  // [graph.look] relaxed: a wrong guess makes the exchange fail.
  std::uint32_t left = left_.load(std::memory_order_relaxed);
  do {
    if (left == 0) return false;
    // [graph.hold] acquire <- [graph.begin]: the run.
  } while (!left_.compare_exchange_weak(left, left + 1, std::memory_order_acquire, std::memory_order_relaxed));
  return true;
}

void graph_state::abandon(const graph_part* for_part) noexcept {
  if (!try_hold()) return;
  const bool is_meant = for_part == nullptr || done_ == for_part;
  // [graph.abandon] relaxed: the thread that abandons first keeps its hold.
  if (!is_meant || is_abandoned_.exchange(true, std::memory_order_relaxed)) {
    leave();
    return;
  }
  errc first = errc::none;
  // [graph.error] relaxed -> [graph.seen]: [graph.left] hands it on to the graph's end.
  failure_.error.compare_exchange_strong(first, errc::cancelled, std::memory_order_relaxed);
  canceller_.tries = 0;
  static_cast<void>(canceller_.try_again());
}

// A receive may be busy, and a node that had begun before may post one yet.
bool graph_state::canceller::try_again() noexcept {
  constexpr std::uint32_t eager_tries = 4, interval = 64;  // a try may send a message
  if (tries < eager_tries || tries % interval == 0) whole_->cancel_all();
  ++tries;
  // [graph.alone] relaxed: decides only whether there may be something left to cancel.
  if (whole_->left_.load(std::memory_order_relaxed) == 1) {
    whole_->leave();
    return true;
  }
  door::try_again(whole_->state_of_device(), *this);
  return false;
}

void graph_state::cancel_all() noexcept {
  for (graph_part& part : parts_) {
    if (part.inner_ != nullptr) part.inner_->abandon(&part);
    // [graph.cancel] relaxed <- [graph.ticket]: the ticket of an operation that has ended cancels nothing.
    const std::uint64_t ticket = part.ticket_.load(std::memory_order_relaxed);
    if (ticket != 0) static_cast<void>(device_->cancel(ticket));
  }
}

void graph_state::wait() noexcept {
  device_state& dev = state_of_device();
  if (base::callback_scope::is_inside()) {
    if (!is_running()) return;
    base::misuse(
        "a graph is destroyed inside a handler, a hook or a node while its operations are under way: abandon it, and "
        "wait for the object that it signals at its end");
  }
  const auto has_ended = [](void* whole) {
    auto& waited = *static_cast<graph_state*>(whole);
    return !waited.is_running() && !waited.ends_.are_given_now();
  };
  const wait_options for_a_while{.timeout = std::chrono::seconds{1}};
  const completion* const end = &end_;
  for (bool is_logged = false; !door::wait(dev, {&end, 1}, has_ended, this, for_a_while); is_logged = true) {
    if (base::is_unwinding()) {
      base::misuse(
          "a graph is destroyed by an exception while operations of its nodes are under way that can't be cancelled");
    }
    if (is_logged) continue;
    base::log_warn(
        "a graph that is destroyed waits for operations of its nodes that can't be cancelled: they need progress on "
        "the devices on which they were posted, and by their peers");
  }
}

std::optional<completion_record> graph_state::take(graph_node node) {
  return std::exchange(part_at(node, "take").record_, std::nullopt);
}

}  // namespace weft::core

namespace weft {

graph::graph(device& dev, const graph_options& options) : state_{std::make_shared<core::graph_state>(dev, options)} {}
graph::graph(graph&&) noexcept = default;
graph& graph::operator=(graph&& other) noexcept {
  graph old{std::move(*this)};
  state_ = std::move(other.state_);
  return *this;
}
graph::~graph() { end(); }

void graph::end() noexcept {
  if (state_ == nullptr) return;
  if (state_->is_copy()) return base::leave_to_parent(state_);
  if (!state_->is_running()) return;
  state_->abandon(nullptr);
  state_->wait();
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

void graph::start_held(completion& done, void* context) {
  if (state_->is_copy()) base::refuse_to_child("a graph");
  if (!state_->try_start(done, context, true)) throw error{errc::invalid_state, "graph::start: the graph is running"};
}
void graph::release_held(errc refused) noexcept { state_->release_held(refused); }
void graph::call_at_end(std::function<void()> function) { state_->call_at_end(std::move(function)); }

void graph::abandon() noexcept {
  if (state_->is_copy()) base::refuse_to_child("a graph");
  state_->abandon(nullptr);
}
bool graph::is_running() const noexcept { return state_->is_running(); }
std::optional<completion_record> graph::take(graph_node node) { return state_->take(node); }
std::exception_ptr graph::exception() const noexcept { return state_->exception(); }
errc graph::first_error() const noexcept { return state_->first_error(); }
std::uint32_t graph::size() const noexcept { return state_->size(); }

}  // namespace weft
