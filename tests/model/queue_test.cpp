// SPDX-License-Identifier: BSD-3-Clause
// The queues under the explorer: nothing lost, doubled, torn or out of order, and no bug planted in them goes
// unnoticed.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <iostream>

#include "model/atomics.hpp"
#include "model/planting.hpp"
#include "weft/detail/bounded_queue.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/record_lane.hpp"
#include "weft/detail/unbounded_queue.hpp"

namespace {

using namespace weft::model;

struct record {
  std::uint64_t number;
  std::uint64_t twin;
  std::uint64_t triplet;
};
constexpr record make(std::uint64_t number) { return {number, ~number, number * 3}; }

using bounded = weft::detail::bounded_queue<record, model_atomics>;
using lane = weft::detail::record_lane<record, model_atomics>;
using laned = weft::detail::laned_queue<record, model_atomics>;
using unbounded = weft::detail::unbounded_queue<record, model_atomics>;

class model_queue : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

// The records that consumers found. A record's number is 10 * producer + its place in the order of its producer.
class ledger {
 public:
  void found(const record& out) {
    check(out.twin == ~out.number && out.triplet == out.number * 3, "a torn record");
    check(out.number > 0 && out.number < seen_.size() && !seen_[out.number], "a record twice, or none at all");
    seen_[out.number] = true;
    ++count_;
  }
  unsigned count() const { return count_; }

 private:
  std::array<bool, 100> seen_{};
  unsigned count_ = 0;
};

// Each consumer sees the records of each producer in order.
class order_of_arrival {
 public:
  void found(const record& out) {
    std::uint64_t& last = last_[out.number / 10 % 10];
    check(out.number > last, "out of order");
    last = out.number;
  }

 private:
  std::array<std::uint64_t, 10> last_{};
};

void push(unbounded& queue, std::uint64_t number) {
  while (!queue.try_push(make(number))) await_change();
}

// Word by word, where there is a lane that is known to have room.
template <class Queue>
bool fast_push(Queue& queue, const record& pushed) {
  if constexpr (requires { queue.fast_push([](auto&) {}); }) {
    return queue.fast_push([&](auto& slot) {
      slot.put(0, pushed.number);
      slot.put_from(1, &pushed.twin);
      slot.put(2, pushed.triplet);
    });
  } else {
    return false;
  }
}

// In one step, or whole, or in parts.
template <class Queue>
void push(Queue& queue, std::uint64_t number) {
  const record pushed = make(number);
  if (number % 3 == 0 && fast_push(queue, pushed)) return;
  while (number % 2 == 0 ? !queue.try_push(pushed)
                         : !queue.try_push_parts(pushed.number, pushed.twin, &pushed.triplet, 1)) {
    await_change();
  }
}

template <class Queue>
void pop(Queue& queue, ledger& all, order_of_arrival& order) {
  record out;
  while (!queue.try_pop(out)) await_change();
  all.found(out);
  order.found(out);
}

template <class Queue>
void pop(Queue& queue, ledger& all, unsigned count) {
  order_of_arrival order;
  for (unsigned i = 0; i < count; ++i) pop(queue, all, order);
}

// Programs for several kinds of queues.

template <class Queue>
void push_and_pop_five(Queue& queue) {
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 16; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 5); });
  check(all.count() == 5, "a record is lost");
}

template <class Queue>
void push_for_two(Queue& queue) {
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 17; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 3); }, [&] { pop(queue, all, 3); });
}

template <class Queue>
void push_and_pop_by_three(Queue& queue) {
  ledger all;
  const auto both = [&](std::uint64_t producer) {
    order_of_arrival order;
    for (std::uint64_t i = 1; i <= 2; ++i) {
      push(queue, producer * 10 + i);
      pop(queue, all, order);
    }
  };
  threads([&] { both(1); }, [&] { both(2); }, [&] { both(3); });
}

template <class Queue>
void find_pushed_records(Queue& queue) {
  ledger all;
  check(queue.try_push(make(11)), "full while empty");
  threads(
      [&] {
        check(queue.try_push(make(21)), "full with one of two");
        record out;
        check(queue.try_pop(out), "empty after a push");
        all.found(out);
      },
      [&] {
        record out;
        check(queue.try_pop(out), "empty after a push");
        all.found(out);
      });
  check(all.count() == 2, "a record is lost");
}

// One record at a time through a queue of capacity one whose slots are used again and again.
void bounded_laps() {
  bounded queue(1, 1);
  push_and_pop_five(queue);
}

void bounded_two_producers() {
  bounded queue(1, 2);
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 14; ++i) push(queue, i);
      },
      [&] {
        for (std::uint64_t i = 21; i < 24; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 6); });
}

void bounded_two_consumers() {
  bounded queue(2, 1);
  push_for_two(queue);
}

void bounded_everyone_both() {
  bounded queue(1, 3);
  push_and_pop_by_three(queue);
}

// Threads without a slot never exceed the capacity, so that no slot beyond it is needed.
void bounded_without_slots() {
  bounded queue(1, 0);
  ledger all;
  const auto push_two = [&](std::uint64_t first) {
    forget_thread_slot();
    push(queue, first);
    push(queue, first + 1);
  };
  threads([&] { push_two(11); }, [&] { push_two(21); }, [&] { pop(queue, all, 4); });
}

// A record pushed before is found, and a full queue is one that holds its capacity.
void bounded_answers() {
  bounded queue(2, 2);
  find_pushed_records(queue);
  check(queue.try_push(make(1)) && queue.try_push(make(2)) && !queue.try_push(make(3)), "capacity two");
}

// One record is there all the time, so a consumer that reads an old head, and comes back to it after laps, finds one.
void bounded_never_empty() {
  bounded queue(2, 1);
  ledger all;
  check(queue.try_push(make(11)), "full while empty");
  threads(
      [&] {
        order_of_arrival order;
        for (std::uint64_t i = 12; i < 18; ++i) {
          push(queue, i);
          pop(queue, all, order);
        }
      },
      [&] {
        record out;
        check(queue.try_pop(out), "empty with one record in it");
        all.found(out);
        push(queue, 21);
      });
}

// A thread without a slot goes round while one with a slot is between its check and its ticket.
void bounded_mixed() {
  bounded queue(1, 1);
  ledger all;
  threads(
      [&] {
        order_of_arrival order;
        push(queue, 11);
        pop(queue, all, order);
      },
      [&] {
        forget_thread_slot();
        order_of_arrival order;
        for (std::uint64_t i = 21; i < 25; ++i) {
          push(queue, i);
          pop(queue, all, order);
        }
      });
}

const search wide{.executions_max = 4000, .random_executions_max = 3000, .deviations_max = 3};

TEST_F(model_queue, bounded_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"laps", bounded_laps, wide},
                                      {"two producers", bounded_two_producers, wide},
                                      {"two consumers", bounded_two_consumers, wide},
                                      {"everyone both", bounded_everyone_both, wide},
                                      {"without slots", bounded_without_slots, wide},
                                      {"answers", bounded_answers, wide},
                                      {"never empty", bounded_never_empty, wide},
                                      {"mixed", bounded_mixed, wide}};
  const std::vector<dropped_check> checks{
      {"record_ring.poll", [](std::uint64_t, std::uint64_t previous) { return previous + 1; }},
      {"bounded_queue.known", [](std::uint64_t, std::uint64_t previous) { return previous; }}};
  const planting_report report =
      plant_bugs(programs, {"/bounded_queue.hpp", "/record_ring.hpp", "/record_slot.hpp"}, {}, checks);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

// The slots beyond the capacity are needed, one for each thread that may overshoot.
TEST_F(model_queue, bounded_breaks_where_the_spare_slots_are_missing) {
  const outcome result = explore(wide, [] {
    bounded queue(1, 0);
    ledger all;
    threads([&] { push(queue, 11); }, [&] { push(queue, 21); }, [&] { pop(queue, all, 2); });
  });
  EXPECT_TRUE(result.failed) << result;
}

// A lane's slots are used again and again.
void lane_laps() {
  lane queue(1);
  push_and_pop_five(queue);
}

void lane_two_consumers() {
  lane queue(2);
  push_for_two(queue);
}

// A lane is full when it holds its capacity; the thread that pops the last record may destroy the lane.
void lane_answers() {
  ledger all;
  {
    lane queue(2);
    threads(
        [&] {
          check(queue.try_push(make(11)), "full while empty");
          check(queue.try_push(make(12)), "full with one of two");
        },
        [&] { pop(queue, all, 2); });
    check(queue.try_push(make(1)) && queue.try_push(make(2)) && !queue.try_push(make(3)), "capacity two");
  }
  check(all.count() == 2, "a record is lost");
}

// One record is there all the time, so a consumer that reads an old head, and comes back to it after laps, finds one.
void lane_never_empty() {
  lane queue(2);
  ledger all;
  check(queue.try_push(make(11)), "full while empty");
  threads(
      [&] {
        order_of_arrival order;
        for (std::uint64_t i = 12; i < 18; ++i) {
          push(queue, i);
          pop(queue, all, order);
        }
      },
      [&] {
        record out;
        check(queue.try_pop(out), "empty with one record in it");
        all.found(out);
      });
}

TEST_F(model_queue, lane_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"laps", lane_laps, wide},
                                      {"two consumers", lane_two_consumers, wide},
                                      {"answers", lane_answers, wide},
                                      {"never empty", lane_never_empty, wide}};
  const std::vector<dropped_check> checks{
      {"record_ring.poll", [](std::uint64_t, std::uint64_t previous) { return previous + 1; }}};
  const planting_report report =
      plant_bugs(programs, {"/record_lane.hpp", "/record_ring.hpp", "/record_slot.hpp"}, {}, checks);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

// Both open a lane while a third one looks into them.
void laned_two_producers() {
  laned queue(1, 2, 3);
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 13; ++i) push(queue, i);
      },
      [&] {
        for (std::uint64_t i = 21; i < 23; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 4); });
}

// One has a lane, two share the queue behind it.
void laned_everyone_both() {
  laned queue(1, 1, 3);
  push_and_pop_by_three(queue);
}

void laned_without_slots() {
  laned queue(1, 2, 1);
  ledger all;
  threads(
      [&] {
        forget_thread_slot();
        push(queue, 11);
        push(queue, 12);
      },
      [&] {
        push(queue, 21);
        push(queue, 22);
      },
      [&] { pop(queue, all, 4); });
}

// A record that was pushed before is found, in whichever lane it is.
void laned_answers() {
  laned queue(2, 2, 2);
  find_pushed_records(queue);
}

TEST_F(model_queue, laned_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"two producers", laned_two_producers, wide},
                                      {"everyone both", laned_everyone_both, wide},
                                      {"without slots", laned_without_slots, wide},
                                      {"answers", laned_answers, wide}};
  const planting_report report = plant_bugs(programs, {"/laned_queue.hpp"});
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

void unbounded_one_each() {
  unbounded queue(2);
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 18; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 7); });
}

void unbounded_two_producers() {
  unbounded queue(2);
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 15; ++i) push(queue, i);
      },
      [&] {
        for (std::uint64_t i = 21; i < 25; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 8); });
}

// All producers need a new segment at one moment; the ones that are too late give theirs back.
void unbounded_three_producers() {
  unbounded queue(2);
  ledger all;
  order_of_arrival order;
  const auto push_three = [&](std::uint64_t first) {
    for (std::uint64_t i = first; i < first + 3; ++i) push(queue, i);
  };
  threads([&] { push_three(11); }, [&] { push_three(21); }, [&] { push_three(31); });
  record out;
  while (queue.try_pop(out)) {
    all.found(out);
    order.found(out);
  }
  check(all.count() == 9, "a record is lost");
}

void unbounded_two_consumers() {
  unbounded queue(2);
  ledger all;
  threads(
      [&] {
        for (std::uint64_t i = 11; i < 19; ++i) push(queue, i);
      },
      [&] { pop(queue, all, 4); }, [&] { pop(queue, all, 4); });
}

// Segments come and go quickly: references become outdated while they are held.
void unbounded_everyone_both() {
  unbounded queue(2);
  ledger all;
  const auto both = [&](std::uint64_t producer) {
    order_of_arrival order;
    for (std::uint64_t i = 1; i <= 4; ++i) {
      push(queue, producer * 10 + i);
      pop(queue, all, order);
    }
  };
  threads([&] { both(1); }, [&] { both(2); }, [&] { both(3); });
  record out;
  check(!queue.try_pop(out), "a record too many");
  check(queue.segment_count() <= 8, "segments are not used again");
}

void unbounded_answers() {
  unbounded queue(2);
  ledger all;
  check(queue.try_push(make(11)), "no memory");
  const auto both = [&](std::uint64_t number) {
    check(queue.try_push(make(number)), "no memory");
    record out;
    check(queue.try_pop(out), "empty after a push");
    all.found(out);
  };
  threads([&] { both(21); }, [&] { pop(queue, all, 1); });
  check(all.count() == 2, "a record is lost");
}

TEST_F(model_queue, unbounded_holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"one each", unbounded_one_each, wide},
                                      {"two producers", unbounded_two_producers, wide},
                                      {"three producers", unbounded_three_producers, wide},
                                      {"two consumers", unbounded_two_consumers, wide},
                                      {"everyone both", unbounded_everyone_both, wide},
                                      {"answers", unbounded_answers, wide}};
  const std::vector<dropped_check> checks{
      {"unbounded_queue.poll", [](std::uint64_t, std::uint64_t previous) { return previous; }}};
  const planting_report report = plant_bugs(programs, {"/unbounded_queue.hpp"}, {}, checks);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
