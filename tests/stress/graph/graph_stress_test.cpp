// SPDX-License-Identifier: BSD-3-Clause
// Random graphs, run again and again by several ranks and threads: each node once in each run, behind those before it,
// and each end signalled once.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "stress/graph_plan.hpp"
#include "support/between_threads.hpp"
#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::random_graphs::action;
using test::random_graphs::graph_plan;
using test::random_graphs::node_plan;
using test::random_graphs::plan;
using test::random_graphs::shape;
using test::random_graphs::words_max;

void fill(std::span<std::uint64_t> words, std::uint64_t key) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = key + i;
}
bool holds(std::span<const std::uint64_t> words, std::uint64_t key) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] != key + i) return false;
  }
  return true;
}

class rank_run;

// The state that the ranks of a job, which are threads of one process, share.
struct job {
  explicit job(const plan& planned)
      : all{planned},
        ranks(planned.form.ranks),
        left{planned.form.ranks * (planned.arrivals + planned.outer.size() * planned.form.runs)} {}

  const plan& all;
  std::vector<rank_run*> ranks;
  test::tally<> left;  // ends and arrivals
  test::tally<std::uint32_t> complaints;
};

constexpr std::uint32_t id_of_arrivals = 1;

class rank_run {
 public:
  rank_run(runtime& rt, job& of)
      : rt_{rt},
        job_{of},
        all_{of.all},
        nodes_(all_.nodes.size()),
        readable_{rt, words_max * sizeof(std::uint64_t)},
        writable_{rt, std::max<std::size_t>(1, all_.nodes.size()) * words_max * sizeof(std::uint64_t)},
        ends_{rt, {.capacity = all_.seed % 2 == 0 ? std::size_t{1} : std::size_t{0}}},
        called_{rt, [this](completion_record&& record) { arrived(record); }},
        arrivals_{rt.register_completion(called_, {.id = id_of_arrivals})} {
    of.ranks[rt.rank()] = this;
    for (std::uint32_t i = 0; i < all_.form.on_own; ++i) own_.push_back(std::make_unique<device>(rt));
    fill(readable_.as<std::uint64_t>(), all_.key(rt.rank(), 0, 0));
    for (std::uint32_t i = 0; i < all_.nodes.size(); ++i) {
      nodes_[i].out.resize(all_.nodes[i].words);
      nodes_[i].in.resize(all_.nodes[i].words);
      if (plan::arrives(all_.nodes[i])) nodes_[i].here = std::vector<test::flag>(runs_of(i));
    }
    for (const graph_plan& each : all_.graphs) graphs_.push_back(std::make_unique<graph>(device_of(each.device)));
    for (std::uint32_t i = 0; i < graphs_.size(); ++i) make(i);
    for (const std::uint32_t each : all_.outer) outer_.emplace_back().number = each;
    rt.barrier();
  }

  void run() {
    std::vector<std::thread> others;
    for (std::uint32_t thread = 1; thread < all_.form.threads(); ++thread) {
      others.emplace_back([this, thread] { drive(thread); });
    }
    drive(0);
    for (std::thread& each : others) each.join();
    rt_.barrier();
    // No message arrives after it.
    for (std::uint32_t i = 0; i < 20 * (own_.size() + 1); ++i) device_of(i % (all_.form.on_own + 1)).progress();
    rt_.barrier();
    if (ends_.pop()) complain("an end came twice", 0, all_.form.runs);
    if (job_.left.value() != 0) complain("too much has come", 0, all_.form.runs);
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) check_after_all(i);
    for (const auto& each : graphs_) {
      if (each->is_running()) complain("a graph runs after its end", 0, all_.form.runs);
    }
    rt_.barrier();
  }

 private:
  struct node_run {
    test::tally<std::uint32_t> ran;
    std::uint32_t tries = 0;  // in this run
    std::vector<std::uint64_t> out, in;
    // Of a node that a thread completes: its object, while a thread is to signal it, and how often that was done.
    test::published<completion*> local;
    test::tally<std::uint32_t> signalled;
    std::vector<test::flag> here;  // messages that have reached this rank, for each run
  };
  struct outer_run {
    std::uint32_t number = 0;
    test::tally<std::uint32_t> started, ended;
  };

  [[nodiscard]] device& device_of(std::uint32_t number) {
    return number == 0 ? rt_.default_device() : *own_[number - 1];
  }
  [[nodiscard]] std::uint32_t runs_of(std::uint32_t node) const { return all_.graphs[all_.nodes[node].graph].runs; }
  [[nodiscard]] std::uint32_t target_of(const node_plan& of) const { return (rt_.rank() + of.shift) % rt_.size(); }
  [[nodiscard]] std::uint32_t source_of(const node_plan& of) const {
    return (rt_.rank() + rt_.size() - of.shift) % rt_.size();
  }
  // Where the node's put writes: words of its own at its peer, as one rank alone has that peer there.
  [[nodiscard]] std::span<std::uint64_t> put_target_of(std::uint32_t node) const {
    return writable_.as<std::uint64_t>().subspan(node * words_max, all_.nodes[node].words);
  }

  void complain(const char* description, std::uint32_t node, std::uint32_t run) {
    if (job_.complaints.add() >= 5) return;
    ADD_FAILURE() << fmt::format("seed {}, rank {} of {}: {}: node {} (action {}) of graph {}, run {}", all_.seed,
                                 rt_.rank(), rt_.size(), description, node, static_cast<int>(all_.nodes[node].kind),
                                 all_.nodes[node].graph, run);
  }

  void make(std::uint32_t number) {
    graph& made = *graphs_[number];
    const std::vector<std::uint32_t>& members = all_.graphs[number].nodes;
    for (const std::uint32_t i : members) {
      const node_plan& node = all_.nodes[i];
      if (node.kind == action::call) {
        made.add([this, i] { begin(i); });
      } else if (node.kind == action::inner) {
        made.add_graph(*graphs_[node.other]);
      } else {
        made.add_post([this, i](completion& local) { return post(i, local); });
      }
      if (node.kind == action::by_thread) by_thread_.push_back(i);
    }
    // The node's index in its graph.
    const auto node_of = [&](std::uint32_t node) {
      return graph_node{static_cast<std::uint32_t>(std::ranges::find(members, node) - members.begin())};
    };
    for (const std::uint32_t i : members) {
      for (const std::uint32_t before : all_.nodes[i].before) made.add_edge(node_of(before), node_of(i));
    }
  }

  // One thread: makes progress, signals, and starts ended graphs again.
  void drive(std::uint32_t thread) {
    const std::uint32_t on_default = all_.form.on_default;
    device& dev = device_of(thread < on_default ? 0 : thread - on_default + 1);
    for (std::size_t i = thread; i < outer_.size(); i += all_.form.threads()) start(outer_[i]);
    const bool is_over = test::eventually(dev, [&] {
      for (const std::uint32_t each : by_thread_) signal(each);
      while (const auto end = ends_.pop()) ended(*end);
      return job_.left.value() == 0;
    });
    if (is_over) return;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (all_.nodes[i].kind == action::inner || nodes_[i].ran.value() == runs_of(i)) continue;
      complain("it has stopped before this has run", i, nodes_[i].ran.value());
    }
    complain("not all has ended and come", 0, 0);
  }

  void start(outer_run& which) {
    which.started.add();
    graphs_[which.number]->start(ends_, &which);
  }

  void ended(const completion_record& end) {
    auto* const which = static_cast<outer_run*>(end.context());
    const bool is_known = std::ranges::any_of(outer_, [&](const outer_run& each) { return &each == which; });
    if (!is_known || end.operation() != operation::graph || end.peer() != rt_.rank() || end.error() != errc::none) {
      return complain("a wrong record of an end", 0, 0);
    }
    const std::uint32_t run = which->ended.add();
    if (run + 1 != which->started.value()) complain("an end of no run", 0, run);
    check_complete(which->number, run);
    if (run + 1 < all_.form.runs) start(*which);
    job_.left.subtract();
  }

  void signal(std::uint32_t node) {
    node_run& now = nodes_[node];
    if (now.local.value() == nullptr) return;
    completion* const local = now.local.take();
    if (local == nullptr) return;
    now.signalled.add();
    if (local->signal(completion_record{}) != completion::answer::taken) complain("a node was full", node, 0);
  }

  // A node runs; answers in which run of its graph.
  std::uint32_t begin(std::uint32_t node) {
    const std::uint32_t run = nodes_[node].ran.add();
    check_before(node, run);
    const node_plan& of = all_.nodes[node];
    for (std::uint32_t i = 0; i < of.spoils_of; ++i) fill(nodes_[of.before[i]].out, 0);  // no node needs it any more
    return run;
  }

  void check_before(std::uint32_t node, std::uint32_t run) {
    const node_plan& of = all_.nodes[node];
    const graph_plan& in = all_.graphs[of.graph];
    if (run >= in.runs) return complain("it has run too often", node, run);
    for (const std::uint32_t each : of.before) {
      if (!is_complete(each, run)) complain("this was not complete when one behind it ran", each, run);
    }
    if (in.inside) return check_before(*in.inside, run);
    if (in.is_shared) return;
    for (const outer_run& each : outer_) {
      if (each.number == of.graph && each.started.value() != run + 1) complain("it ran in another run", node, run);
    }
  }

  void check_complete(std::uint32_t graph, std::uint32_t run) {
    for (const std::uint32_t each : all_.graphs[graph].nodes) {
      if (!is_complete(each, run)) complain("this was not complete at the end", each, run);
    }
  }

  // Whether the node's work has been done in this run, and no more than that.
  [[nodiscard]] bool is_complete(std::uint32_t node, std::uint32_t run) {
    const node_plan& of = all_.nodes[node];
    const node_run& now = nodes_[node];
    if (of.kind == action::inner) {
      const graph_plan& inner = all_.graphs[of.other];
      return std::ranges::all_of(inner.nodes, [&](std::uint32_t each) {
        if (!inner.is_shared) return is_complete(each, run);
        return all_.nodes[each].kind == action::inner || nodes_[each].ran.value() > run;  // others run it, too
      });
    }
    if (now.ran.value() != run + 1) return false;
    switch (of.kind) {
      case action::by_thread: return now.signalled.value() == run + 1;
      case action::receive: return holds(now.in, all_.key(source_of(of), of.other, run));
      case action::put:
        if (!of.is_thorough) return true;
        return holds(job_.ranks[target_of(of)]->put_target_of(node), all_.key(rt_.rank(), node, run));
      case action::get: return holds(now.in, all_.key(target_of(of), 0, 0));
      default: return true;
    }
  }

  status post(std::uint32_t node, completion& local) {
    const node_plan& of = all_.nodes[node];
    node_run& now = nodes_[node];
    const bool is_first = now.tries == 0;
    const std::uint32_t run = is_first ? begin(node) : now.ran.value() - 1;
    if (now.tries++ < of.refusals) return status::retry(shortage::ring);
    if (run >= runs_of(node)) return status::done();  // the failure is reported above
    fill(now.out, all_.key(rt_.rank(), node, run));
    fill(now.in, 0);
    const status answer = post(node, of, run, local);
    if (!answer.is_retry()) now.tries = 0;
    return answer;
  }

  status post(std::uint32_t node, const node_plan& of, std::uint32_t run, completion& local) {
    node_run& now = nodes_[node];
    device& dev = device_of(of.device);
    const std::uint32_t to = target_of(of);
    const std::uint64_t tag = std::uint64_t{node} << 32 | run;
    const completion_level level = of.is_thorough ? completion_level::delivered : completion_level::local;
    const auto there = [&](const memory_region& region, std::size_t word) {
      return region.at(word * sizeof(std::uint64_t));
    };
    switch (of.kind) {
      case action::by_thread:
        now.local.publish(&local);
        if (of.is_thorough) signal(node);
        return status::posted(1);
      case action::message:
        return dev.post_am(to, {id_of_arrivals}, now.out, local, {.tag = tag, .complete_at = level});
      case action::send: return dev.post_send(to, now.out, local, {.tag = tag, .complete_at = level});
      case action::receive:
        return dev.post_recv(source_of(of), now.in, local, {.tag = std::uint64_t{of.other} << 32 | run});
      case action::put:
        return dev.post_put(to, now.out, there(job_.ranks[to]->writable_, node * words_max), local,
                            {.signal = {id_of_arrivals}, .tag = tag, .complete_at = level});
      case action::get: {
        post_get_options how{.tag = tag};
        if (of.is_thorough) how.signal = {id_of_arrivals};
        return dev.post_get(to, now.in, there(job_.ranks[to]->readable_, 0), local, how);
      }
      default: return status::done();
    }
  }

  void arrived(const completion_record& record) {
    const auto node = static_cast<std::uint32_t>(record.tag() >> 32);
    const auto run = static_cast<std::uint32_t>(record.tag());
    if (node >= nodes_.size() || run >= nodes_[node].here.size()) return complain("something unknown came", 0, run);
    const node_plan& of = all_.nodes[node];
    if (record.error() != errc::none || record.source() != source_of(of)) complain("this came wrong", node, run);
    if (of.kind == action::message) {
      std::vector<std::uint64_t> words(record.bytes() / sizeof(std::uint64_t));
      std::memcpy(words.data(), record.data().data(), words.size() * sizeof(std::uint64_t));
      const bool is_good = words.size() == of.words && holds(words, all_.key(record.source(), node, run));
      if (!is_good) complain("this came changed", node, run);
    }
    if (!nodes_[node].here[run].try_raise()) complain("this came twice", node, run);
    job_.left.subtract();
  }

  void check_after_all(std::uint32_t node) {
    const node_plan& of = all_.nodes[node];
    const std::uint32_t runs = runs_of(node);
    if (of.kind == action::inner || runs == 0) return;
    if (nodes_[node].ran.value() != runs) complain("it has not run as often as its graph", node, runs);
    if (nodes_[node].local.value() != nullptr) complain("it waits for a signal", node, runs);
    for (const test::flag& each : nodes_[node].here) {
      if (!each.is_raised()) complain("this has not come", node, runs);
    }
    if (of.kind != action::put) return;
    bool is_of_a_run = false;  // puts of several runs may overtake each other
    for (std::uint32_t run = 0; run < runs; ++run) {
      is_of_a_run = is_of_a_run || holds(put_target_of(node), all_.key(source_of(of), node, run));
    }
    if (!is_of_a_run) complain("its buffer was needed when it was complete", node, runs);
  }

  runtime& rt_;
  job& job_;
  const plan& all_;
  std::vector<std::unique_ptr<device>> own_;  // shared, too: the thread that completes a node runs its successors
  std::deque<node_run> nodes_;
  memory_region readable_, writable_;
  completion_queue ends_;
  handler<std::function<void(completion_record&&)>> called_;
  registration arrivals_;
  std::vector<std::uint32_t> by_thread_;
  std::vector<std::unique_ptr<graph>> graphs_;
  std::deque<outer_run> outer_;
};

class graphs : public testing::TestWithParam<shape> {};

TEST_P(graphs, run_each_node_once_in_each_run_and_signal_each_end_once) {
  // One number replays the simulated network, and the graphs that it disturbed.
  const std::uint64_t simulated = base::process_settings().sim_seed;
  const std::uint64_t seed = simulated != 0 ? simulated : test::random_seed();
  const plan all{GetParam(), seed};
  job together{all};
  test::local_job{all.form.ranks}.run([&](runtime& rt) { rank_run{rt, together}.run(); });
}

constexpr std::uint32_t runs = test::under_sanitizer ? 8 : 30;

INSTANTIATE_TEST_SUITE_P(random_shapes, graphs,
                         testing::Values(shape{1, 2, 1, 6, 30, runs}, shape{2, 1, 0, 4, 30, runs},
                                         shape{2, 2, 2, 6, 30, runs}, shape{3, 1, 2, 5, 20, runs},
                                         shape{4, 2, 0, 5, 20, runs}),
                         testing::PrintToStringParamName());

// For many runs over a simulated network (tests/scripts/seeds_test.py).
INSTANTIATE_TEST_SUITE_P(short_shapes, graphs, testing::Values(shape{2, 2, 1, 3, 10, 3}),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace weft
