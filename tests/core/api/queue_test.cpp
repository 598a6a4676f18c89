// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "weft/detail/bounded_queue.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/unbounded_queue.hpp"

namespace {

using weft::detail::bounded_queue;
using weft::detail::cached_thread_slot;
using weft::detail::laned_queue;
using weft::detail::no_thread_slot;
using weft::detail::unbounded_queue;
using weft::test::flag;
using weft::test::tally;

struct record {
  std::uint64_t producer;
  std::uint64_t number;
  std::uint64_t filling[5];

  static record make(std::uint64_t producer, std::uint64_t number) {
    record made{producer, number, {}};
    for (std::uint64_t i = 0; i < 5; ++i) made.filling[i] = number * 7 + producer + i;
    return made;
  }
  bool whole() const {
    for (std::uint64_t i = 0; i < 5; ++i) {
      if (filling[i] != number * 7 + producer + i) return false;
    }
    return true;
  }
};
static_assert(sizeof(record) == 56);

constexpr std::uint64_t attempts_max = std::uint64_t{1} << 34;

// Every record arrives once and whole, and each consumer sees those of one producer in order. Bounded by attempts, so
// that a loss is a failure and not a hang.
template <class Queue>
void exchange(Queue& queue, std::uint64_t producers, std::uint64_t consumers, std::uint64_t per_producer) {
  std::atomic<std::uint64_t> popped{0};
  std::vector<std::atomic<std::uint8_t>> seen(producers * per_producer);
  tally<> errors;
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      for (std::uint64_t number = 0; number < per_producer; ++number) {
        std::uint64_t attempt = 0;
        while (!queue.try_push(record::make(producer, number))) {
          if (++attempt == attempts_max) return void(errors.add());
          std::this_thread::yield();
        }
      }
    });
  }
  for (std::uint64_t consumer = 0; consumer < consumers; ++consumer) {
    threads.emplace_back([&] {
      std::vector<std::uint64_t> next(producers, 0);
      // relaxed: a count, and the queue alone is to order the contents of records.
      for (std::uint64_t attempt = 0; popped.load(std::memory_order_relaxed) < producers * per_producer; ++attempt) {
        if (attempt == attempts_max) return void(errors.add());
        record out;
        if (!queue.try_pop(out)) {
          std::this_thread::yield();
          continue;
        }
        popped.fetch_add(1, std::memory_order_relaxed);  // relaxed: a count
        // relaxed: counts, too.
        if (!out.whole() || out.producer >= producers || out.number >= per_producer ||
            out.number < next[out.producer] ||
            seen[out.producer * per_producer + out.number].fetch_add(1, std::memory_order_relaxed) != 0) {
          errors.add();
          continue;
        }
        next[out.producer] = out.number + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors.value(), 0u);
  // relaxed: all threads have ended.
  EXPECT_EQ(popped.load(std::memory_order_relaxed), producers * per_producer);
  record out;
  EXPECT_FALSE(queue.try_pop(out));
}

// One thread alone: as many records fit as the queue says, lap after lap, and leave it in order.
template <class Queue>
void fill_and_empty() {
  for (std::size_t capacity : {1u, 2u, 3u, 8u, 100u}) {
    Queue queue(capacity);
    for (std::uint64_t lap = 0; lap < 1000; ++lap) {
      for (std::uint64_t i = 0; i < capacity; ++i) ASSERT_TRUE(queue.try_push(record::make(lap, i)));
      ASSERT_FALSE(queue.try_push(record::make(lap, capacity)));
      ASSERT_EQ(queue.approximate_size(), capacity);
      record out;
      for (std::uint64_t i = 0; i < capacity; ++i) {
        ASSERT_TRUE(queue.try_pop(out));
        ASSERT_TRUE(out.whole());
        ASSERT_EQ(out.producer, lap);
        ASSERT_EQ(out.number, i);
      }
      ASSERT_FALSE(queue.try_pop(out));
    }
  }
}

TEST(bounded_queue, answers_nothing_ready_while_it_is_empty) {
  bounded_queue<record> queue(4);
  record out;
  EXPECT_FALSE(queue.try_pop(out));
  EXPECT_EQ(queue.approximate_size(), 0u);
}

TEST(bounded_queue, holds_exactly_its_capacity_lap_after_lap) { fill_and_empty<bounded_queue<record>>(); }

TEST(bounded_queue, capacity_one_does_not_alias_full_and_empty) {
  bounded_queue<record> queue(1, 0);
  record out;
  for (std::uint64_t i = 0; i < 10; ++i) {
    EXPECT_FALSE(queue.try_pop(out));
    EXPECT_TRUE(queue.try_push(record::make(0, i)));
    EXPECT_FALSE(queue.try_push(record::make(0, i)));
    EXPECT_TRUE(queue.try_pop(out));
    EXPECT_EQ(out.number, i);
  }
}

TEST(bounded_queue, capacity_zero_is_always_full) {
  bounded_queue<record> queue(0);
  EXPECT_FALSE(queue.try_push(record::make(0, 0)));
}

TEST(bounded_queue, refuses_a_capacity_beyond_memory) {
  EXPECT_THROW(bounded_queue<record>(~std::size_t{0}), std::bad_alloc);
  EXPECT_THROW(bounded_queue<record>(std::size_t{1} << 40), std::bad_alloc);
}

TEST(bounded_queue, is_exact_for_a_thread_without_a_slot) {
  bounded_queue<record> queue(3, 0);
  std::thread([&] {
    cached_thread_slot = no_thread_slot;
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(record::make(0, i)));
    EXPECT_FALSE(queue.try_push(record::make(0, 3)));
  }).join();
  EXPECT_EQ(queue.approximate_size(), 3u);
}

TEST(bounded_queue, loses_and_duplicates_nothing_among_threads) {
  for (std::size_t capacity : {1u, 3u, 64u}) {
    bounded_queue<record> queue(capacity);
    exchange(queue, 3, 3, 5000);
  }
}

TEST(bounded_queue, loses_nothing_when_threads_without_a_slot_join_in) {
  bounded_queue<record> queue(2, 4);
  tally<> sum;
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < 4; ++producer) {
    threads.emplace_back([&, producer] {
      if (producer % 2 == 0) cached_thread_slot = no_thread_slot;
      for (std::uint64_t number = 1; number <= 3000; ++number) {
        while (!queue.try_push(record::make(producer, number))) {
          record out;
          if (queue.try_pop(out)) sum.add(out.whole() ? out.number : 0);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  record out;
  while (queue.try_pop(out)) sum.add(out.whole() ? out.number : 0);
  EXPECT_EQ(sum.value(), 4u * 3000u * 3001u / 2u);
}

// True before the first push and after the last pop, and false in between, lap after lap.
template <class Queue>
void empty_and_not(Queue& queue) {
  const Queue& asked = queue;
  record out;
  for (std::uint64_t lap = 0; lap < 100; ++lap) {
    for (std::uint64_t count = 1; count <= 4; ++count) {
      EXPECT_TRUE(asked.is_empty());
      for (std::uint64_t i = 0; i < count; ++i) {
        ASSERT_TRUE(queue.try_push(record::make(lap, i)));
        EXPECT_FALSE(asked.is_empty());
      }
      for (std::uint64_t i = 0; i < count; ++i) {
        EXPECT_FALSE(asked.is_empty());
        ASSERT_TRUE(queue.try_pop(out));
      }
    }
  }
  EXPECT_TRUE(asked.is_empty());
}

// Threads that pop only when the queue is not empty get everything; threads that only ask disturb no other.
template <class Queue>
void look_before_each_pop(Queue& queue) {
  constexpr std::uint64_t producers = 3, per_producer = 3000;
  tally<> popped, sum;
  flag is_lost;
  const auto is_over = [&] { return popped.value() == producers * per_producer || is_lost.is_raised(); };
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < producers; ++producer) {
    threads.emplace_back([&, producer] {
      for (std::uint64_t number = 1; number <= per_producer; ++number) {
        while (!queue.try_push(record::make(producer, number)) && !is_lost.is_raised()) std::this_thread::yield();
      }
    });
  }
  for (int consumer = 0; consumer < 2; ++consumer) {
    threads.emplace_back([&] {
      for (std::uint64_t attempt = 0; !is_over(); ++attempt) {
        if (attempt == attempts_max) is_lost.raise();
        record out;
        if (queue.is_empty() || !queue.try_pop(out)) {
          std::this_thread::yield();
          continue;
        }
        sum.add(out.number);
        popped.add();
      }
    });
  }
  while (!is_over()) {
    static_cast<void>(queue.is_empty());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(is_lost.is_raised());
  EXPECT_EQ(sum.value(), producers * per_producer * (per_producer + 1) / 2);
  EXPECT_TRUE(queue.is_empty());
}

// Joined, so that its slot is free again.
template <class Function>
void in_another_thread(Function body) {
  std::thread(body).join();
}

TEST(laned_queue, holds_exactly_its_capacity_of_one_thread) { fill_and_empty<laned_queue<record>>(); }

TEST(laned_queue, loses_and_duplicates_nothing_among_threads) {
  for (std::size_t capacity : {1u, 3u, 64u}) {
    laned_queue<record> queue(capacity);
    exchange(queue, 3, 3, 5000);
  }
}

TEST(laned_queue, loses_and_duplicates_nothing_where_lanes_are_fewer_than_threads) {
  laned_queue<record> two(3, 2);
  exchange(two, 5, 3, 3000);
  laned_queue<record> as_made(3);
  exchange(as_made, laned_queue<record>::lanes_max + 4, 2, 2000);
}

TEST(laned_queue, gives_each_thread_the_room_that_it_says) {
  laned_queue<record> queue(2);
  EXPECT_TRUE(queue.try_push(record::make(0, 0)));
  EXPECT_TRUE(queue.try_push(record::make(0, 1)));
  EXPECT_FALSE(queue.try_push(record::make(0, 2)));
  in_another_thread([&] {
    EXPECT_TRUE(queue.try_push(record::make(1, 0)));
    EXPECT_TRUE(queue.try_push(record::make(1, 1)));
    EXPECT_FALSE(queue.try_push(record::make(1, 2)));
  });
  EXPECT_EQ(queue.approximate_size(), 4u);
  record out;
  EXPECT_TRUE(queue.try_pop(out));
  EXPECT_EQ(out.producer, 0u) << "a thread finds its own records first";
}

// Where its own lane never runs dry, the others have their turn nevertheless, however many queues the thread looks
// into.
TEST(laned_queue, forgets_no_lane) {
  for (const std::size_t count : {1u, 2u, 3u, 8u}) {
    std::vector<std::unique_ptr<laned_queue<record>>> queues;
    for (std::size_t i = 0; i < count; ++i) {
      queues.push_back(std::make_unique<laned_queue<record>>(8));
      EXPECT_TRUE(queues.back()->try_push(record::make(1, 0)));
    }
    in_another_thread([&] {
      std::vector<unsigned> of_others(count);
      for (const auto& queue : queues) EXPECT_TRUE(queue->try_push(record::make(2, 0)));
      for (std::uint64_t i = 1; i <= 5000; ++i) {
        for (std::size_t k = 0; k < count; ++k) {
          EXPECT_TRUE(queues[k]->try_push(record::make(2, i)));
          record out;
          EXPECT_TRUE(queues[k]->try_pop(out));
          of_others[k] += out.producer == 1;
        }
      }
      EXPECT_EQ(of_others, std::vector<unsigned>(count, 1));
    });
  }
}

TEST(laned_queue, passes_a_lane_on_with_its_slot) {
  laned_queue<record> queue(4, 1);
  for (std::uint64_t thread = 0; thread < 20; ++thread) {
    in_another_thread([&] { EXPECT_TRUE(queue.try_push(record::make(thread, 0))); });
    record out;
    ASSERT_TRUE(queue.try_pop(out));
    EXPECT_EQ(out.producer, thread);
  }
}

// A thread that takes over a slot uses its lane from the first push on; that record would lie elsewhere otherwise.
TEST(laned_queue, keeps_in_order_what_the_next_thread_of_a_slot_pushes) {
  for (const std::uint32_t lanes : {1u, 2u, 3u}) {
    laned_queue<record> queue(8, lanes);
    EXPECT_TRUE(queue.try_push(record::make(0, 0)));
    for (std::uint64_t thread = 1; thread < 6; ++thread) {
      in_another_thread([&] {
        for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(record::make(thread, i)));
      });
      std::uint64_t next = 0;
      record out;
      while (queue.try_pop(out)) {
        if (out.producer != thread) continue;
        EXPECT_EQ(out.number, next++) << "thread " << thread << ", " << lanes << " lanes";
      }
      EXPECT_EQ(next, 3u);
    }
  }
}

TEST(laned_queue, serves_threads_without_a_slot) {
  laned_queue<record> queue(3, 1, 0);
  in_another_thread([&] {
    cached_thread_slot = no_thread_slot;
    for (std::uint64_t i = 0; i < 3; ++i) EXPECT_TRUE(queue.try_push(record::make(0, i)));
    EXPECT_FALSE(queue.try_push(record::make(0, 3)));
  });
  record out;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.try_pop(out));
    EXPECT_EQ(out.number, i);
  }
  EXPECT_FALSE(queue.try_pop(out));
}

TEST(laned_queue, knows_whether_it_is_empty) {
  laned_queue<record> queue(4);
  empty_and_not(queue);
  // In a lane of another thread's, and in the queue that threads without a lane share.
  laned_queue<record> shared(4, 1);
  EXPECT_TRUE(shared.try_push(record::make(0, 0)));
  record out;
  EXPECT_TRUE(shared.try_pop(out));
  for (laned_queue<record>* each : {&queue, &shared}) {
    std::thread([&] { EXPECT_TRUE(each->try_push(record::make(1, 0))); }).join();
    EXPECT_FALSE(each->is_empty());
    EXPECT_TRUE(each->try_pop(out));
    EXPECT_TRUE(each->is_empty());
  }
}

TEST(laned_queue, loses_nothing_for_who_looks_before_each_pop) {
  laned_queue<record> wide(64), narrow(3, 1);
  look_before_each_pop(wide);
  look_before_each_pop(narrow);
}

TEST(unbounded_queue, knows_whether_it_is_empty) {
  for (const std::uint32_t slots : {2u, 4u, 256u}) {
    unbounded_queue<record> queue(slots);
    empty_and_not(queue);
  }
}

TEST(unbounded_queue, loses_nothing_for_who_looks_before_each_pop) {
  for (const std::uint32_t slots : {2u, 256u}) {
    unbounded_queue<record> queue(slots);
    look_before_each_pop(queue);
  }
}

TEST(laned_queue, refuses_a_capacity_beyond_memory) {
  EXPECT_THROW(laned_queue<record>(~std::size_t{0}), std::bad_alloc);
}

TEST(unbounded_queue, keeps_order_over_many_segments) {
  unbounded_queue<record> queue(4);
  record out;
  EXPECT_FALSE(queue.try_pop(out));
  for (std::uint64_t i = 0; i < 1001; ++i) ASSERT_TRUE(queue.try_push(record::make(1, i)));
  for (std::uint64_t i = 0; i < 1001; ++i) {
    ASSERT_TRUE(queue.try_pop(out));
    ASSERT_TRUE(out.whole());
    ASSERT_EQ(out.number, i);
  }
  EXPECT_FALSE(queue.try_pop(out));
}

TEST(unbounded_queue, uses_segments_again_rather_than_more_memory) {
  unbounded_queue<record> queue(4);
  record out;
  std::uint64_t next = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    ASSERT_TRUE(queue.try_push(record::make(1, i)));
    if (i % 8 != 7) continue;
    for (; next <= i; ++next) {
      ASSERT_TRUE(queue.try_pop(out));
      ASSERT_EQ(out.number, next);
    }
    ASSERT_FALSE(queue.try_pop(out));
  }
  EXPECT_LE(queue.segment_count(), 4u);
}

TEST(unbounded_queue, loses_and_duplicates_nothing_among_threads) {
  for (std::uint32_t slots : {2u, 16u, 256u}) {
    unbounded_queue<record> queue(slots);
    exchange(queue, 3, 3, 5000);
  }
}

}  // namespace
