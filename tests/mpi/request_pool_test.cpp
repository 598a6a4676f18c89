// SPDX-License-Identifier: BSD-3-Clause
// The pool of requests of a rank, whose threads acquire and release them, each in a cache of its own.
#include "mpi/objects/request_pool.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "weft/detail/thread_slot.hpp"

namespace weft::mpi {
namespace {

using requests = std::vector<request*>;

request& acquire(request_pool& pool) { return pool.acquire(nullptr, request_operation::receive); }

requests acquire_many(request_pool& pool, int count) {
  requests out;
  for (int each = 0; each < count; ++each) out.push_back(&acquire(pool));
  return out;
}

void release_all(request_pool& pool, const requests& all) {
  for (request* const each : all) {
    each->finish(outcome{});
    pool.release(*each);
  }
}

std::set<request*> set_of(const requests& all) { return {all.begin(), all.end()}; }

void run_thread(const std::function<void()>& body) { std::jthread{body}.join(); }

// A thread that has no slot from its start.
void run_stray_thread(const std::function<void()>& body) {
  run_thread([&] {
    detail::request_cache_offset = detail::no_request_cache;
    body();
  });
}

TEST(mpi_request_pool, gives_each_request_once_and_takes_them_all_back) {
  const auto pool = std::make_unique<request_pool>();
  const requests first = acquire_many(*pool, 1000);
  EXPECT_EQ(set_of(first).size(), first.size());
  for (const request* each : first) EXPECT_TRUE(each->kind == object_kind::request && !each->is_done());
  release_all(*pool, first);
  const requests second = acquire_many(*pool, 1000);
  EXPECT_EQ(set_of(second).size(), second.size());
  // The last block may have requests that were not used before.
  std::size_t known = 0;
  for (const std::set<request*> before = set_of(first); request* const each : second) known += before.contains(each);
  EXPECT_GE(known, second.size() - batch_requests);
  release_all(*pool, second);
}

TEST(mpi_request_pool, a_thread_that_ends_leaves_its_requests_to_the_next_one_with_its_slot) {
  const auto pool = std::make_unique<request_pool>();
  requests first, second;
  run_thread([&] {
    first = acquire_many(*pool, batch_requests);
    release_all(*pool, first);
  });
  run_thread([&] { second = acquire_many(*pool, batch_requests); });
  EXPECT_EQ(set_of(first), set_of(second));
  release_all(*pool, second);
}

TEST(mpi_request_pool, requests_that_another_thread_has_acquired_are_released_to_this_one) {
  const auto pool = std::make_unique<request_pool>();
  requests first;
  run_thread([&] { first = acquire_many(*pool, 10 * batch_requests); });
  release_all(*pool, first);
  const requests second = acquire_many(*pool, 10 * batch_requests);
  EXPECT_EQ(set_of(first), set_of(second));
  release_all(*pool, second);
  // All but the batches that this thread's cache keeps are any thread's.
  requests third;
  run_thread([&] { third = acquire_many(*pool, 8 * batch_requests); });
  EXPECT_TRUE(std::ranges::all_of(third, [known = set_of(first)](request* each) { return known.contains(each); }));
  release_all(*pool, third);
}

TEST(mpi_request_pool, threads_without_a_slot_share_requests) {
  const auto pool = std::make_unique<request_pool>();
  std::set<request*> seen;
  for (int round = 0; round < 4; ++round) {
    run_stray_thread([&] {
      const requests mine = acquire_many(*pool, 3 * batch_requests);
      seen.insert(mine.begin(), mine.end());
      release_all(*pool, mine);
    });
  }
  EXPECT_EQ(seen.size(), 3 * batch_requests);
}

TEST(mpi_request_pool, a_destructor_at_the_end_of_a_thread_uses_no_cache_of_another_one) {
  const auto pool = std::make_unique<request_pool>();
  struct late_user {
    request_pool* pool = nullptr;
    ~late_user() {
      if (pool == nullptr) return;
      EXPECT_EQ(detail::request_cache_offset, detail::no_request_cache);
      release_all(*pool, acquire_many(*pool, 2));
    }
  };
  run_thread([&] {
    thread_local late_user user;  // older than the thread's slot: its end is later
    user.pool = pool.get();
    release_all(*pool, acquire_many(*pool, 2));
    EXPECT_LT(detail::request_cache_offset, detail::no_request_cache);
  });
}

// Requests that have been started, for the threads that complete them.
class started_requests {
 public:
  void add(request& started) {
    std::unique_lock locked{mutex_};
    changed_.wait(locked, [&] { return all_.size() < at_once_max; });
    all_.push_back(&started);
    changed_.notify_all();
  }
  request& take() {
    std::unique_lock locked{mutex_};
    changed_.wait(locked, [&] { return !all_.empty(); });
    request& out = *all_.front();
    all_.pop_front();
    changed_.notify_all();
    return out;
  }
  static constexpr std::size_t at_once_max = 300;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<request*> all_;
};

TEST(mpi_request_pool, requests_of_many_threads_that_others_complete_are_used_again) {
  constexpr int pairs = 8;
  constexpr int each_starts = 50 * WEFT_TEST_MIXTURES;
  const auto pool = std::make_unique<request_pool>();
  started_requests started;
  std::mutex mutex;
  std::set<request*> seen;
  std::atomic<int> mixed_up{0};
  std::vector<std::jthread> threads;
  for (int pair = 0; pair < pairs; ++pair) {
    threads.emplace_back([&, pair] {
      if (pair == 0) detail::request_cache_offset = detail::no_request_cache;
      std::set<request*> mine;
      for (int each = 0; each < each_starts; ++each) {
        request& req = acquire(*pool);
        req.ticket = reinterpret_cast<std::uintptr_t>(&req) + 1;
        mine.insert(&req);
        started.add(req);
      }
      const std::scoped_lock lock{mutex};
      seen.insert(mine.begin(), mine.end());
    });
    threads.emplace_back([&] {
      for (int each = 0; each < each_starts; ++each) {
        request& req = started.take();
        if (req.is_done() || req.ticket != reinterpret_cast<std::uintptr_t>(&req) + 1) ++mixed_up;
        req.ticket = 0;
        req.finish(outcome{});
        pool->release(req);
      }
    });
  }
  threads.clear();
  EXPECT_EQ(mixed_up, 0);
  // Two batches and a part of one in each cache, and the started requests.
  EXPECT_LE(seen.size(), started_requests::at_once_max + (2 * pairs * 3 + 1) * batch_requests);
}

TEST(mpi_request_pool, requests_that_are_freed_while_they_are_active_are_released_once_by_any_thread) {
  constexpr int pairs = 3;
  constexpr int each_starts = 50 * WEFT_TEST_MIXTURES;
  const auto pool = std::make_unique<request_pool>();
  started_requests started;
  std::vector<std::jthread> threads;
  std::atomic<int> again{0};
  for (int pair = 0; pair < pairs; ++pair) {
    threads.emplace_back([&] {
      for (int each = 0; each < each_starts; ++each) {
        request& req = acquire(*pool);
        req.ticket = 0;
        started.add(req);
        pool->release_when_done(req);
      }
    });
    threads.emplace_back([&] {
      for (int each = 0; each < each_starts; ++each) {
        request& req = started.take();
        if (req.ticket++ != 0) ++again;
        req.finish(outcome{});
        if (each % 100 == 0) pool->release_done();
      }
    });
  }
  threads.clear();
  EXPECT_EQ(again, 0);
  EXPECT_EQ(pool->release_done(), 0U);
  std::size_t open = 0;
  pool->free_open([&](const request&) { ++open; });
  EXPECT_EQ(open, 0U);
}

}  // namespace
}  // namespace weft::mpi
