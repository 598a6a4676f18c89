// SPDX-License-Identifier: BSD-3-Clause
#include "uts/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <random>
#include <span>
#include <utility>
#include <vector>

namespace weft_uts {
namespace {

using clock = std::chrono::steady_clock;

// Tags of the messages. A receive takes its tag from any rank.
enum class tag : std::uint64_t { request = 1, answer };

constexpr auto by_tag = weft::match_policy::tag_only;

// Nodes between two looks for requests.
constexpr std::uint32_t look_every = 64;
constexpr std::uint32_t tell_every = 1U << 16;

constexpr std::size_t chunk_max = 64;

enum class wish : std::uint32_t { nodes, end };

struct request_message {
  std::uint32_t thief;
  wish wanted;
};

struct answer_message {
  std::uint32_t count;
  std::array<node, chunk_max> nodes;
  [[nodiscard]] std::size_t bytes() const noexcept { return offsetof(answer_message, nodes) + count * sizeof(node); }
};

template <class Message>
weft::const_buffer_ref bytes_of(const Message& message) {
  return {&message, sizeof message};
}
template <class Message>
weft::buffer_ref buffer_of(Message& message) {
  return {&message, sizeof message};
}

// Of two ranks.
struct added {
  search_result operator()(const search_result& a, const search_result& b) const {
    search_result out = a;
    out.counts.add(b.counts);
    out.seconds = std::max(a.seconds, b.seconds);
    out.steals += b.steals;
    out.steals_in_vain += b.steals_in_vain;
    return out;
  }
};

// Shared by the fibers of a rank.
class searcher {
 public:
  searcher(weft::runtime& rt, const search_options& options, const std::function<void(std::uint64_t)>& tell)
      : rt_{rt}, options_{options}, tell_{tell}, tree_{options.tree}, io_{rt.default_device()}, random_{rt.rank()} {
    options_.chunk = std::clamp<std::uint32_t>(options_.chunk, 1, chunk_max);
    if (rt.rank() == 0) {
      pool_.push_back(tree_.root());
      begin();
    }
  }

  search_result run() {
    std::array<weft::device*, 1> served{&rt_.default_device()};
    weft::fiber_scheduler fibers{
        {.workers = options_.workers, .fibers_per_worker = options_.fibers + 4, .devices = served}};
    walkers_ = options_.workers * options_.fibers;
    rt_.barrier();
    const auto begin = clock::now();
    std::vector<weft::fiber> all;
    for (std::uint32_t i = 0; i < walkers_; ++i) {
      all.push_back(fibers.spawn([this] { walk(); }, {.worker = i % options_.workers}));
    }
    all.push_back(fibers.spawn([this] { await_end(); }, {.worker = 0}));
    if (rt_.size() > 1) {
      all.push_back(fibers.spawn([this] { serve(); }, {.worker = 0}));
      all.push_back(fibers.spawn([this] { steal(); }, {.worker = 0}));
    }
    for (weft::fiber& each : all) each.join();
    search_result out;
    out.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    out.counts = counts_;
    out.steals = steals_;
    out.steals_in_vain = steals_in_vain_;
    search_result sum;
    weft::collective::allreduce(std::span<const search_result>{&out, 1}, std::span{&sum, 1}, added{}).run(all_ranks_);
    return sum;
  }

 private:
  // Walks from the end of a stack of its own; the oldest nodes, at its beginning, go to the pool when that
  // is nearly empty.
  void walk() {
    std::deque<node> mine;
    tree_counts counted;
    std::uint64_t reported = 0;  // of `counted.nodes`
    while (take(mine, counted)) {
      reported = 0;
      for (std::uint32_t visited = 1; !mine.empty(); ++visited) {
        const node next = mine.back();
        mine.pop_back();
        ++counted.nodes;
        counted.depth = std::max<std::uint64_t>(counted.depth, next.depth);
        const std::uint32_t children = tree_.children_of(next);
        if (children == 0) ++counted.leaves;
        for (std::uint32_t i = 0; i < children; ++i) mine.push_back(tree::child_of(next, i));
        if (visited % look_every != 0) continue;
        visit(counted.nodes - std::exchange(reported, counted.nodes));
        if (gives_up()) mine.clear();
        // [hint] a stale answer gives nodes too early or too late.
        if (wants_more_.load(std::memory_order_relaxed) && mine.size() > 2 * options_.chunk) give(mine);
        if (visited % (look_every * 8) == 0) io_.device().progress();
        if (visited % tell_every == 0) {
          tell_of(counted);
          reported = 0;
        }
        weft::this_fiber::yield();
      }
      visit(counted.nodes - reported);
    }
    const std::scoped_lock lock{guard_};
    counts_.add(counted);
  }

  void visit(std::uint64_t nodes) noexcept { visited_.fetch_add(nodes, std::memory_order_relaxed); }  // [stat]

  // Whether this rank has more nodes than the tree may have: then it drops its nodes and those it steals, so that the
  // search ends as any other does.
  [[nodiscard]] bool gives_up() const noexcept {
    return visited_.load(std::memory_order_relaxed) > options_.nodes_max;  // [stat]
  }

  void tell_of(tree_counts& counted) {
    const std::scoped_lock lock{guard_};
    counts_.add(std::exchange(counted, {}));
    tell_(counts_.nodes);
  }

  // Takes the nodes of the pool, once there are some; false when the search is over.
  bool take(std::deque<node>& into, tree_counts& counted) {
    std::unique_lock lock{guard_};
    counts_.add(std::exchange(counted, {}));
    tell_(counts_.nodes);
    ++idle_;
    if (idle_ == walkers_ && pool_.empty()) become_idle();
    changed_.wait(lock, [&] { return !pool_.empty() || is_over_; });
    if (is_over_) return false;
    --idle_;
    const std::size_t count = std::min<std::size_t>(pool_.size(), options_.chunk);
    into.insert(into.end(), pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(count));
    pool_.erase(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(count));
    note_size();
    return true;
  }

  void give(std::deque<node>& mine) {
    const std::scoped_lock lock{guard_};
    const auto end = mine.begin() + static_cast<std::ptrdiff_t>(options_.chunk);
    pool_.insert(pool_.end(), mine.begin(), end);
    mine.erase(mine.begin(), end);
    note_size();
    changed_.notify_all();
  }

  void note_size() {
    // [hint] written under the lock, read without it.
    wants_more_.store(pool_.size() < walkers_ * options_.chunk, std::memory_order_relaxed);
  }

  // A rank has work from its first node on until all its fibers are idle, and while nodes are on their way to it. Under
  // the lock.
  void begin() {
    has_work_ = true;
    work_.begin_work();
  }
  void become_idle() {
    if (std::exchange(has_work_, false)) work_.end_work();
    changed_.notify_all();  // the thief
  }

  void await_end() {
    work_.wait();
    const std::scoped_lock lock{guard_};
    is_over_ = true;
    changed_.notify_all();
  }

  // Answers ranks without nodes, until no rank asks any more.
  void serve() {
    for (;;) {
      request_message asked{};
      static_cast<void>(io_.recv(0, buffer_of(asked), {.tag = number(tag::request), .policy = by_tag}));
      if (asked.wanted == wish::end) return;
      answer_message answer{};
      split_pool(answer);
      io_.send(asked.thief, {&answer, answer.bytes()}, {.tag = number(tag::answer), .policy = by_tag});
    }
  }

  // Half of the pool's nodes. The pool keeps some, so that the one to find it empty is always a walker.
  void split_pool(answer_message& answer) {
    const std::scoped_lock lock{guard_};
    const std::size_t count = std::min<std::size_t>(options_.chunk, pool_.size() / 2);
    if (count == 0) return;
    answer.count = static_cast<std::uint32_t>(count);
    work_.sent();
    std::copy_n(pool_.begin(), count, answer.nodes.begin());
    pool_.erase(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(count));
    note_size();
  }

  // Asks one rank after the other, drawn at random, while this one has nothing. When no rank asks any more, the fiber
  // that answers ends.
  void steal() {
    std::uniform_int_distribution<std::uint32_t> other{1, rt_.size() - 1};
    for (;;) {
      {
        std::unique_lock lock{guard_};
        changed_.wait(lock, [&] { return is_over_ || (idle_ == walkers_ && pool_.empty()); });
        if (is_over_) break;
      }
      const std::uint32_t victim = (rt_.rank() + other(random_)) % rt_.size();
      io_.send(victim, bytes_of(request_message{rt_.rank(), wish::nodes}),
               {.tag = number(tag::request), .policy = by_tag});
      answer_message got{};
      static_cast<void>(io_.recv(0, buffer_of(got), {.tag = number(tag::answer), .policy = by_tag}));
      const std::scoped_lock lock{guard_};
      if (got.count == 0) {
        ++steals_in_vain_;
        continue;
      }
      ++steals_;
      begin();
      work_.handled();
      pool_.insert(pool_.end(), got.nodes.begin(), got.nodes.begin() + got.count);
      note_size();
      changed_.notify_all();
    }
    weft::collective::barrier().run(all_ranks_);
    io_.send(rt_.rank(), bytes_of(request_message{rt_.rank(), wish::end}),
             {.tag = number(tag::request), .policy = by_tag});
  }

  static std::uint64_t number(tag kind) { return static_cast<std::uint64_t>(kind); }

  weft::runtime& rt_;
  search_options options_;
  const std::function<void(std::uint64_t)>& tell_;
  tree tree_;
  weft::blocking_device io_;
  weft::group all_ranks_ = rt_.world();
  weft::termination work_{all_ranks_};
  std::minstd_rand random_;  // of the thief
  std::uint32_t walkers_ = 0;
  std::atomic<bool> wants_more_{true};
  std::atomic<std::uint64_t> visited_{0};  // nodes of this rank

  weft::fiber_mutex guard_;  // of the members below
  weft::fiber_condition changed_;
  std::deque<node> pool_;
  bool has_work_ = false;
  std::uint32_t idle_ = 0;
  bool is_over_ = false;
  tree_counts counts_;
  std::uint64_t steals_ = 0;
  std::uint64_t steals_in_vain_ = 0;
};

}  // namespace

search_result count_tree(weft::runtime& rt, const search_options& options,
                         const std::function<void(std::uint64_t)>& tell) {
  return searcher{rt, options, tell}.run();
}

search_result count_alone(const search_options& options) {
  const tree all{options.tree};
  const auto begin = clock::now();
  search_result out;
  std::vector<node> open{all.root()};
  while (!open.empty() && out.counts.nodes <= options.nodes_max) {
    const node next = open.back();
    open.pop_back();
    ++out.counts.nodes;
    out.counts.depth = std::max<std::uint64_t>(out.counts.depth, next.depth);
    const std::uint32_t children = all.children_of(next);
    if (children == 0) ++out.counts.leaves;
    for (std::uint32_t i = 0; i < children; ++i) open.push_back(tree::child_of(next, i));
  }
  out.seconds = std::chrono::duration<double>(clock::now() - begin).count();
  return out;
}

}  // namespace weft_uts
