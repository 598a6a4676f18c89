// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>

namespace weft::coll {

namespace {

// A receive, with the message that it waits for.
struct waiting_receive {
  std::uint64_t key = 0;  // sender and label
  std::uint32_t index = 0;
  std::uint32_t sent_by = step_ref::none;
  std::uint64_t bytes = 0;
  bool is_ready = false;
};

std::uint64_t key_of(std::uint32_t from, std::uint32_t label) { return std::uint64_t{from} << 32 | label; }

using lowest_first = std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>>;

// One rank that goes through its schedule.
struct runner {
  const schedule* steps = nullptr;
  std::vector<std::uint32_t> left;          // the number of steps before each that have not run
  std::vector<std::uint32_t> behind;        // the steps after each
  std::vector<std::uint32_t> behind_begin;  // the begin of each step's, in `behind`
  std::vector<waiting_receive> receives;    // sorted by key
  std::vector<std::uint32_t> local;         // ready copies and reductions
  lowest_first sends;                       // ready
  lowest_first arrived;                     // indices in `receives`: ready, and the message is there
  std::vector<std::uint32_t> next_round;    // ready from the next round on
  std::size_t ran = 0;
  std::uint64_t bytes = 0;
};

runner make_runner(const schedule& steps) {
  runner out;
  out.steps = &steps;
  const auto count = static_cast<std::uint32_t>(steps.steps().size());
  out.left.resize(count);
  out.behind_begin.resize(count + 1);
  for (std::uint32_t i = 0; i < count; ++i) {
    const step& each = steps.steps()[i];
    out.left[i] = each.before_end - each.before_begin;
    for (const std::uint32_t before : steps.before(each)) ++out.behind_begin[before + 1];
    if (each.action == action::receive) out.receives.push_back({key_of(each.peer, each.label), i});
  }
  for (std::uint32_t i = 0; i < count; ++i) out.behind_begin[i + 1] += out.behind_begin[i];
  out.behind.resize(out.behind_begin[count]);
  std::vector<std::uint32_t> next{out.behind_begin.begin(), out.behind_begin.end() - 1};
  for (std::uint32_t i = 0; i < count; ++i) {
    for (const std::uint32_t before : steps.before(steps.steps()[i])) out.behind[next[before]++] = i;
  }
  std::ranges::sort(out.receives, {}, [](const waiting_receive& each) { return std::pair{each.key, each.index}; });
  return out;
}

// Null if there is none.
waiting_receive* find(std::vector<waiting_receive>& receives, std::uint64_t key) {
  const auto found = std::ranges::lower_bound(receives, key, {}, &waiting_receive::key);
  return found != receives.end() && found->key == key ? &*found : nullptr;
}

class world {
 public:
  world(std::span<const schedule> all, std::vector<ran_step>* order) : order_{order} {
    for (const schedule& each : all) ranks_.push_back(make_runner(each));
    for (runner& each : ranks_) {
      check_labels(each);
      for (std::uint32_t i = 0; i < each.left.size(); ++i)
        if (each.left[i] == 0) make_ready(each, i);
    }
  }

  counts run() {
    while (has_moved_) {
      has_moved_ = false;
      bool has_sent = false;
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) run_local(rank);
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) has_sent |= send_one(rank);
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) has_sent |= receive_one(rank);
      for (runner& each : ranks_) {
        for (const std::uint32_t index : each.next_round) make_ready(each, index);
        each.next_round.clear();
      }
      if (has_sent) ++out_.rounds;
    }
    check();
    return out_;
  }

 private:
  void make_ready(runner& self, std::uint32_t index) {
    const step& each = self.steps->steps()[index];
    if (each.action == action::send) {
      self.sends.push(index);
    } else if (each.action == action::receive) {
      waiting_receive& receive = *find(self.receives, key_of(each.peer, each.label));
      receive.is_ready = true;
      enqueue_if_arrived(self, receive);
    } else {
      self.local.push_back(index);
    }
  }

  static void enqueue_if_arrived(runner& self, const waiting_receive& receive) {
    if (receive.is_ready && receive.sent_by != step_ref::none) self.arrived.push(receive.index);
  }

  void finish(std::uint32_t rank, std::uint32_t index, bool later, ran_step ran) {
    runner& self = ranks_[rank];
    has_moved_ = true;
    ++self.ran;
    ran.rank = rank;
    ran.index = index;
    if (order_ != nullptr) order_->push_back(ran);
    for (std::uint32_t i = self.behind_begin[index]; i < self.behind_begin[index + 1]; ++i) {
      const std::uint32_t next = self.behind[i];
      if (--self.left[next] != 0) continue;
      if (later) {
        self.next_round.push_back(next);
      } else {
        make_ready(self, next);
      }
    }
  }

  // Reductions and copies take no round.
  void run_local(std::uint32_t rank) {
    runner& self = ranks_[rank];
    while (!self.local.empty()) {
      const std::uint32_t index = self.local.back();
      self.local.pop_back();
      finish(rank, index, false, {});
    }
  }

  bool send_one(std::uint32_t rank) {
    runner& self = ranks_[rank];
    if (self.sends.empty()) return false;
    const std::uint32_t index = self.sends.top();
    self.sends.pop();
    const step& each = self.steps->steps()[index];
    waiting_receive* const receive =
        each.peer < ranks_.size() ? find(ranks_[each.peer].receives, key_of(rank, each.label)) : nullptr;
    if (receive == nullptr) {
      note(fmt::format("rank {} does not receive the message of rank {} with label {}", each.peer, rank, each.label));
    } else if (receive->sent_by != step_ref::none) {
      note(fmt::format("rank {} sends two messages to rank {} with label {}", rank, each.peer, each.label));
    } else {
      receive->sent_by = index;
      receive->bytes = each.from.bytes;
      enqueue_if_arrived(ranks_[each.peer], *receive);
    }
    ++out_.messages;
    out_.bytes += each.from.bytes;
    self.bytes += each.from.bytes;
    out_.bytes_of_a_rank = std::max(out_.bytes_of_a_rank, self.bytes);
    finish(rank, index, true, {});
    return true;
  }

  bool receive_one(std::uint32_t rank) {
    runner& self = ranks_[rank];
    if (self.arrived.empty()) return false;
    const std::uint32_t index = self.arrived.top();
    self.arrived.pop();
    const step& each = self.steps->steps()[index];
    const waiting_receive& receive = *find(self.receives, key_of(each.peer, each.label));
    if (receive.bytes != each.into.bytes) {
      note(fmt::format("rank {} receives {} bytes, and rank {} sends {}", rank, each.into.bytes, each.peer,
                       receive.bytes));
    }
    finish(rank, index, true, {.sender = each.peer, .sent_by = receive.sent_by});
    return true;
  }

  void check_labels(const runner& self) {
    const auto twice = std::ranges::adjacent_find(self.receives, {}, &waiting_receive::key);
    if (twice == self.receives.end()) return;
    const step& each = self.steps->steps()[twice->index];
    note(fmt::format("two receives from rank {} with label {}", each.peer, each.label));
  }

  void check() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::size_t steps = ranks_[rank].steps->steps().size();
      if (ranks_[rank].ran != steps) note(fmt::format("{} of {} steps of rank {} ran", ranks_[rank].ran, steps, rank));
    }
  }

  void note(std::string wrong) {
    if (out_.wrong.empty()) out_.wrong = std::move(wrong);
  }

  std::vector<runner> ranks_;
  counts out_;
  bool has_moved_ = true;
  std::vector<ran_step>* order_;
};

}  // namespace

counts count(std::span<const schedule> all, std::vector<ran_step>* order) { return world{all, order}.run(); }

counts count(const algorithm& algorithm, const collective_args& args) {
  std::vector<schedule> all(args.size);
  collective_args mine = args;
  for (mine.rank = 0; mine.rank < mine.size; ++mine.rank) algorithm.function(all[mine.rank], mine);
  return count(all);
}

}  // namespace weft::coll
