#include "uts/search.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "uts/credit.hpp"

namespace weft_uts {
namespace {

using clock = std::chrono::steady_clock;

// Tags of the messages. A receive takes its tag from any rank.
enum class tag : std::uint64_t { request = 1, answer, credit, counts };

constexpr auto by_tag = weft::match_policy::tag_only;

// Nodes between two looks for requests.
constexpr std::uint32_t look_every = 64;
constexpr std::uint32_t tell_every = 1U << 16;

// A thief that has stopped sends this instead of credit.
constexpr std::uint64_t no_more = ~std::uint64_t{0};

constexpr std::size_t chunk_max = 64;

enum class wish : std::uint32_t { nodes, know_that_it_is_over, end };

struct request_message {
  std::uint32_t thief;
  wish wanted;
};

struct answer_message {
  std::uint32_t count;
  std::uint32_t is_over;
  credit_power credit;
  std::array<node, chunk_max> nodes;
  [[nodiscard]] std::size_t bytes() const noexcept { return offsetof(answer_message, nodes) + count * sizeof(node); }
};

template <class Message>
weft::const_buffer_ref out(const Message& message) {
  return {&message, sizeof message};
}
template <class Message>
weft::buffer_ref in(Message& message) {
  return {&message, sizeof message};
}

// Shared by the fibers of a rank.
class searcher {
 public:
  searcher(weft::runtime& rt, const search_options& options, const std::function<void(std::uint64_t)>& tell)
      : rt_{rt},
        options_{options},
        tell_{tell},
        tree_{options.tree},
        through_{rt.default_device()},
        random_{rt.rank()} {
    options_.chunk = std::clamp<std::uint32_t>(options_.chunk, 1, chunk_max);
    if (rt.rank() == 0) {
      pool_.push_back(tree_.root());
      credit_ = 0;
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
    if (rt_.size() > 1) {
      all.push_back(fibers.spawn([this] { serve(); }, {.worker = 0}));
      all.push_back(fibers.spawn([this] { steal(); }, {.worker = 0}));
      if (rt_.rank() == 0) all.push_back(fibers.spawn([this] { collect(); }, {.worker = 0}));
    }
    for (weft::fiber& each : all) each.join();
    search_result out;
    out.seconds = std::chrono::duration<double>(clock::now() - begin).count();
    out.counts = counts_;
    out.steals = steals_;
    out.steals_in_vain = steals_in_vain_;
    fibers.spawn([&] { add_up(out); }, {.worker = 0}).join();
    return out;
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
        if (visited % (look_every * 8) == 0) through_.through().progress();
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
  // search ends as any other does, with all credit back.
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
    if (idle_ == walkers_ && pool_.empty()) become_idle(lock);
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

  // Under the lock: nothing is left here.
  void become_idle(std::unique_lock<weft::fiber_mutex>& lock) {
    const std::optional<credit_power> mine = std::exchange(credit_, std::nullopt);
    if (rt_.size() == 1) {
      is_over_ = true;
      changed_.notify_all();
      return;
    }
    lock.unlock();
    if (mine) through_.send(0, out(*mine), {.tag = number(tag::credit), .policy = by_tag});
    lock.lock();
    changed_.notify_all();  // the thief
  }

  // Rank 0 alone: a rank without nodes sends its credit. When all of it is back, rank 0 tells all; when no rank will
  // ask any more, the fibers that answer end.
  void collect() {
    for (credit_sum back; !back.is_one();) back.add(listen());
    tell_all(wish::know_that_it_is_over);
    for (std::uint32_t stopped = 0; stopped < rt_.size(); ++stopped) static_cast<void>(listen());
    tell_all(wish::end);
  }
  std::uint64_t listen() {
    std::uint64_t out = 0;
    static_cast<void>(through_.recv(0, in(out), {.tag = number(tag::credit), .policy = by_tag}));
    return out;
  }
  void tell_all(wish wanted) {
    for (std::uint32_t rank = 0; rank < rt_.size(); ++rank) {
      through_.send(rank, out(request_message{0, wanted}), {.tag = number(tag::request), .policy = by_tag});
    }
  }

  // Answers ranks without nodes, until no rank asks any more.
  void serve() {
    for (;;) {
      request_message asked{};
      static_cast<void>(through_.recv(0, in(asked), {.tag = number(tag::request), .policy = by_tag}));
      if (asked.wanted == wish::end) return;
      if (asked.wanted == wish::know_that_it_is_over) {
        const std::scoped_lock lock{guard_};
        is_over_ = true;
        changed_.notify_all();
        continue;
      }
      answer_message answer{};
      split_pool(answer);
      through_.send(asked.thief, {&answer, answer.bytes()}, {.tag = number(tag::answer), .policy = by_tag});
    }
  }

  // Half of the pool's nodes, with half of the credit. The pool keeps some, so that the one to find it empty is always
  // a walker.
  void split_pool(answer_message& with) {
    const std::scoped_lock lock{guard_};
    const std::size_t count = std::min<std::size_t>(options_.chunk, pool_.size() / 2);
    if (count == 0) return;
    with.count = static_cast<std::uint32_t>(count);
    with.credit = ++credit_.value();
    std::copy_n(pool_.begin(), count, with.nodes.begin());
    pool_.erase(pool_.begin(), pool_.begin() + static_cast<std::ptrdiff_t>(count));
    note_size();
  }

  // Asks one rank after the other, drawn at random, while this one has nothing.
  void steal() {
    std::uniform_int_distribution<std::uint32_t> other{1, rt_.size() - 1};
    for (;;) {
      {
        std::unique_lock lock{guard_};
        changed_.wait(lock, [&] { return is_over_ || (idle_ == walkers_ && pool_.empty()); });
        if (is_over_) break;
      }
      const std::uint32_t victim = (rt_.rank() + other(random_)) % rt_.size();
      through_.send(victim, out(request_message{rt_.rank(), wish::nodes}),
                    {.tag = number(tag::request), .policy = by_tag});
      answer_message got{};
      static_cast<void>(through_.recv(0, in(got), {.tag = number(tag::answer), .policy = by_tag}));
      const std::scoped_lock lock{guard_};
      if (got.count == 0) {
        ++steals_in_vain_;
        continue;
      }
      ++steals_;
      credit_ = got.credit;  // it had none: it asks when its own has gone back
      pool_.insert(pool_.end(), got.nodes.begin(), got.nodes.begin() + got.count);
      note_size();
      changed_.notify_all();
    }
    through_.send(0, out(no_more), {.tag = number(tag::credit), .policy = by_tag});
  }

  // Everybody has the sums of all.
  void add_up(search_result& mine) {
    if (rt_.rank() != 0) {
      through_.send(0, out(mine), {.tag = number(tag::counts)});
      static_cast<void>(through_.recv(0, in(mine), {.tag = number(tag::counts)}));
      return;
    }
    for (std::uint32_t rank = 1; rank < rt_.size(); ++rank) {
      search_result other;
      static_cast<void>(through_.recv(rank, in(other), {.tag = number(tag::counts)}));
      mine.counts.add(other.counts);
      mine.steals += other.steals;
      mine.steals_in_vain += other.steals_in_vain;
      mine.seconds = std::max(mine.seconds, other.seconds);
    }
    for (std::uint32_t rank = 1; rank < rt_.size(); ++rank)
      through_.send(rank, out(mine), {.tag = number(tag::counts)});
  }

  static std::uint64_t number(tag of) { return static_cast<std::uint64_t>(of); }

  weft::runtime& rt_;
  search_options options_;
  const std::function<void(std::uint64_t)>& tell_;
  tree tree_;
  weft::blocking_device through_;
  std::minstd_rand random_;  // of the thief
  std::uint32_t walkers_ = 0;
  std::atomic<bool> wants_more_{true};
  std::atomic<std::uint64_t> visited_{0};  // nodes of this rank

  weft::fiber_mutex guard_;  // of the members below
  weft::fiber_condition changed_;
  std::deque<node> pool_;
  std::optional<credit_power> credit_;
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
