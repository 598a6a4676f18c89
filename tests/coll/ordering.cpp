// SPDX-License-Identifier: BSD-3-Clause
#include "coll/ordering.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "coll/schedule/counts.hpp"

namespace weft::coll::test {

namespace {

// Numbers below a bound.
class number_set {
 public:
  explicit number_set(std::size_t bound) : words_((bound + 63) / 64) {}

  void add(std::size_t number) { words_[number / 64] |= std::uint64_t{1} << number % 64; }
  void add(const number_set& more) {
    for (std::size_t i = 0; i < words_.size(); ++i) words_[i] |= more.words_[i];
  }
  [[nodiscard]] bool has(std::size_t number) const { return (words_[number / 64] >> number % 64 & 1) != 0; }

 private:
  std::vector<std::uint64_t> words_;
};

struct step_order {
  number_set ended_at_begin;  // the steps, of all ranks, that have ended when it begins
  number_set ended_at_end;
  number_set ranks;  // which have begun when it ends
};

// The steps of all ranks in one row.
class orders {
 public:
  explicit orders(std::span<const schedule> all) {
    std::size_t steps = 0;
    for (const schedule& each : all) {
      first_.push_back(steps);
      steps += each.steps().size();
    }
    steps_.assign(steps, {number_set{steps}, number_set{steps}, number_set{all.size()}});
    std::vector<ran_step> order;
    static_cast<void>(count(all, &order));
    for (const ran_step& ran : order) {
      step_order& now = of(ran.rank, ran.index);
      now.ranks.add(ran.rank);
      for (const std::uint32_t before : all[ran.rank].before(all[ran.rank].steps()[ran.index])) {
        now.ended_at_begin.add(of(ran.rank, before).ended_at_end);
        now.ended_at_begin.add(number(ran.rank, before));
        now.ranks.add(of(ran.rank, before).ranks);
      }
      now.ended_at_end = now.ended_at_begin;
      if (ran.sender != step_ref::none) {
        now.ended_at_end.add(of(ran.sender, ran.sent_by).ended_at_begin);
        now.ranks.add(of(ran.sender, ran.sent_by).ranks);
      }
    }
  }

  [[nodiscard]] std::size_t number(std::uint32_t rank, std::uint32_t index) const { return first_[rank] + index; }
  [[nodiscard]] step_order& of(std::uint32_t rank, std::uint32_t index) { return steps_[number(rank, index)]; }
  [[nodiscard]] bool is_before(std::uint32_t rank, std::uint32_t first, std::uint32_t second) const {
    return steps_[number(rank, second)].ended_at_begin.has(number(rank, first));
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<step_order> steps_;
};

bool overlap(const part& one, const part& other) {
  return one.location == other.location && one.bytes != 0 && other.bytes != 0 &&
         one.offset < other.offset + other.bytes && other.offset < one.offset + one.bytes;
}

// `from` and `into` are empty where a step has none.
bool conflict(const step& one, const step& other) {
  return overlap(one.into, other.into) || overlap(one.into, other.from) || overlap(one.from, other.into);
}

}  // namespace

std::string find_race(std::span<const schedule> all) {
  const orders order{all};
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    const std::span<const step> steps = all[rank].steps();
    for (std::uint32_t second = 0; second < steps.size(); ++second) {
      for (std::uint32_t first = 0; first < second; ++first) {
        if (conflict(steps[first], steps[second]) && !order.is_before(rank, first, second) &&
            !order.is_before(rank, second, first))
          return fmt::format("steps {} and {} of rank {} may run at once on the same bytes", first, second, rank);
      }
    }
  }
  return {};
}

std::string find_early_end(std::span<const schedule> all) {
  orders order{all};
  for (std::uint32_t rank = 0; rank < all.size(); ++rank) {
    number_set begun{all.size()};
    begun.add(rank);
    for (std::uint32_t i = 0; i < all[rank].steps().size(); ++i) begun.add(order.of(rank, i).ranks);
    for (std::uint32_t other = 0; other < all.size(); ++other) {
      if (!begun.has(other)) return fmt::format("rank {} can be done before rank {} has begun", rank, other);
    }
  }
  return {};
}

}  // namespace weft::coll::test
