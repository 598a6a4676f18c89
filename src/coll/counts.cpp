#include "coll/counts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace weft::coll {

namespace {

// One rank on its way through its schedule.
struct runner {
  const schedule* steps = nullptr;
  std::vector<std::uint32_t> left;  // steps before each that have not run
  std::vector<std::vector<std::uint32_t>> behind;
  std::vector<std::uint32_t> ready;       // in the order of the schedule
  std::vector<std::uint32_t> next_round;  // ready from the next round on
  std::size_t ran = 0;
  std::uint64_t bytes = 0;
};

class world {
 public:
  world(std::span<const schedule> all, std::vector<ran_step>* order) : order_{order} {
    for (const schedule& each : all) {
      runner made;
      made.steps = &each;
      made.left.resize(each.steps().size());
      made.behind.resize(each.steps().size());
      for (std::uint32_t i = 0; i < each.steps().size(); ++i) {
        for (const std::uint32_t before : each.before(each.steps()[i])) {
          ++made.left[i];
          made.behind[before].push_back(i);
        }
        if (made.left[i] == 0) made.ready.push_back(i);
      }
      ranks_.push_back(std::move(made));
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
        each.ready.insert(each.ready.end(), each.next_round.begin(), each.next_round.end());
        each.next_round.clear();
        std::ranges::sort(each.ready);
      }
      if (has_sent) ++out_.rounds;
    }
    check();
    return out_;
  }

 private:
  using message_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // from, to, label
  struct message {
    std::uint64_t bytes;
    std::uint32_t sent_by;
  };

  void finish(std::uint32_t rank, std::uint32_t index, bool later, ran_step ran) {
    runner& at = ranks_[rank];
    has_moved_ = true;
    ++at.ran;
    ran.rank = rank;
    ran.index = index;
    if (order_ != nullptr) order_->push_back(ran);
    for (const std::uint32_t each : at.behind[index]) {
      if (--at.left[each] == 0) (later ? at.next_round : at.ready).push_back(each);
    }
  }

  // Reductions and copies take no round.
  void run_local(std::uint32_t rank) {
    runner& at = ranks_[rank];
    for (std::size_t i = 0; i < at.ready.size();) {
      const std::uint32_t index = at.ready[i];
      const action kind = at.steps->steps()[index].action;
      if (kind == action::send || kind == action::receive) {
        ++i;
        continue;
      }
      at.ready.erase(at.ready.begin() + static_cast<std::ptrdiff_t>(i));
      finish(rank, index, false, {});
    }
    std::ranges::sort(at.ready);
  }

  bool send_one(std::uint32_t rank) {
    runner& at = ranks_[rank];
    for (std::size_t i = 0; i < at.ready.size(); ++i) {
      const std::uint32_t index = at.ready[i];
      const step& each = at.steps->steps()[index];
      if (each.action != action::send) continue;
      at.ready.erase(at.ready.begin() + static_cast<std::ptrdiff_t>(i));
      if (each.peer >= ranks_.size()) {
        note(fmt::format("rank {} sends to rank {}", rank, each.peer));
      } else if (!under_way_.try_emplace({rank, each.peer, each.label}, message{each.from.bytes, index}).second) {
        note(fmt::format("rank {} sends two messages to rank {} with label {}", rank, each.peer, each.label));
      }
      ++out_.messages;
      out_.bytes += each.from.bytes;
      at.bytes += each.from.bytes;
      out_.bytes_of_a_rank = std::max(out_.bytes_of_a_rank, at.bytes);
      finish(rank, index, true, {});
      return true;
    }
    return false;
  }

  bool receive_one(std::uint32_t rank) {
    runner& at = ranks_[rank];
    for (std::size_t i = 0; i < at.ready.size(); ++i) {
      const std::uint32_t index = at.ready[i];
      const step& each = at.steps->steps()[index];
      if (each.action != action::receive) continue;
      const auto found = under_way_.find({each.peer, rank, each.label});
      if (found == under_way_.end()) continue;
      if (found->second.bytes != each.into.bytes) {
        note(fmt::format("rank {} receives {} bytes, and rank {} sends {}", rank, each.into.bytes, each.peer,
                         found->second.bytes));
      }
      const std::uint32_t sent_by = found->second.sent_by;
      under_way_.erase(found);
      at.ready.erase(at.ready.begin() + static_cast<std::ptrdiff_t>(i));
      finish(rank, index, true, {.sender = each.peer, .sent_by = sent_by});
      return true;
    }
    return false;
  }

  void check() {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      const std::size_t steps = ranks_[rank].steps->steps().size();
      if (ranks_[rank].ran != steps) note(fmt::format("{} of {} steps of rank {} ran", ranks_[rank].ran, steps, rank));
    }
    if (!under_way_.empty()) {
      const auto& [from, to, label] = under_way_.begin()->first;
      note(fmt::format("rank {} does not receive the message of rank {} with label {}", to, from, label));
    }
  }

  void note(std::string wrong) {
    if (out_.wrong.empty()) out_.wrong = std::move(wrong);
  }

  std::vector<runner> ranks_;
  std::map<message_key, message> under_way_;
  counts out_;
  bool has_moved_ = true;
  std::vector<ran_step>* order_;
};

}  // namespace

counts count(std::span<const schedule> all, std::vector<ran_step>* order) { return world{all, order}.run(); }

counts count(const algorithm& which, const shape& of) {
  std::vector<schedule> all(of.size);
  shape mine = of;
  for (mine.rank = 0; mine.rank < mine.size; ++mine.rank) which.make(all[mine.rank], mine);
  return count(all);
}

}  // namespace weft::coll
