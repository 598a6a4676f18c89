// SPDX-License-Identifier: BSD-3-Clause
// Concurrent tables and queues of other libraries, in the roles of Weft's; compiled for one of them at a time:
//   c++ -O2 -std=c++20 -DPEER_TBB components.cpp -ltbb        (or PEER_CUCKOO, PEER_BOOST,
//                                                                   PEER_BOOST_STACK, PEER_BOOST_LIST, PEER_MOODYCAMEL)
//   components CLAIM:THREADS:MILLISECONDS...
// Prints `sample INDEX VALUE 0 0 SHARE` for each: operations per second of all threads, and the slowest one's as a part
// of the median. An operation is as in weft-perf: two inserts of one key that meet, a push and a pop, or a packet that
// is taken and put back.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#if defined(PEER_TBB)
#include <tbb/concurrent_hash_map.h>
#elif defined(PEER_CUCKOO)
#include <libcuckoo/cuckoohash_map.hh>
#elif defined(PEER_BOOST) || defined(PEER_BOOST_LIST)
#include <boost/lockfree/queue.hpp>
#elif defined(PEER_BOOST_STACK)
#include <boost/lockfree/stack.hpp>
#elif defined(PEER_MOODYCAMEL)
#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#elif __has_include(<concurrentqueue/concurrentqueue.h>)
#include <concurrentqueue/concurrentqueue.h>
#else
#include <concurrentqueue.h>
#endif
#endif

namespace {

using step = std::function<void(std::uint32_t thread, std::uint64_t first, std::uint64_t count)>;

// A match_key of Weft's.
struct key {
  std::uint32_t engine = 0;
  std::uint32_t rank = 0;
  std::uint64_t tag = 0;
  std::uint64_t policy = 0;

  bool operator==(const key&) const = default;
};

std::size_t mixed(const key& of) noexcept {
  std::uint64_t out = (std::uint64_t{of.engine} << 32 | of.rank) * 0x9e3779b97f4a7c15u;
  out = (out ^ out >> 32) + of.tag + (of.policy << 61);
  out = (out ^ out >> 33) * 0xff51afd7ed558ccdu;
  out = (out ^ out >> 33) * 0xc4ceb9fe1a85ec53u;
  return out ^ out >> 33;
}

struct hash {
  std::size_t operator()(const key& of) const noexcept { return mixed(of); }
};
struct hash_compare {
  static std::size_t hash(const key& of) { return mixed(of); }
  static bool equal(const key& a, const key& b) { return a == b; }
};

// A completion record of Weft's.
struct record {
  std::uint64_t words[7];
};

[[maybe_unused]] key key_of(std::uint32_t thread, std::uint64_t number) { return {1, thread, number % 4096, 0}; }

constexpr std::size_t table_size = 1 << 16;
constexpr std::size_t queue_size = 1 << 12;

void need(bool true_here, const char* problem) {
  if (true_here) return;
  std::fprintf(stderr, "components: %s\n", problem);
  std::exit(1);
}

#if defined(PEER_TBB)
constexpr const char* claim = "matching";
step make_step() {
  using table = tbb::concurrent_hash_map<key, void*, hash_compare>;
  auto all = std::make_shared<table>(table_size);
  // The first to come leaves its node; the second takes it out.
  const auto meet = [](table& in, const key& of, void* node) {
    table::accessor at;
    if (in.insert(at, {of, node})) return static_cast<void*>(nullptr);
    void* const found = at->second;
    in.erase(at);
    return found;
  };
  return [=](std::uint32_t thread, std::uint64_t first, std::uint64_t count) {
    int nodes[2];
    for (std::uint64_t i = first; i < first + count; ++i) {
      const key of = key_of(thread, i);
      need(meet(*all, of, &nodes[0]) == nullptr && meet(*all, of, &nodes[1]) == &nodes[0], "no match");
    }
  };
}
#elif defined(PEER_CUCKOO)
constexpr const char* claim = "matching";
step make_step() {
  using table = libcuckoo::cuckoohash_map<key, void*, hash>;
  auto all = std::make_shared<table>(table_size);
  const auto meet = [](table& in, const key& of, void* node) {
    void* found = nullptr;
    in.uprase_fn(
        of,
        [&](void*& there) {
          found = there;
          return true;  // take it out
        },
        node);
    return found;
  };
  return [=](std::uint32_t thread, std::uint64_t first, std::uint64_t count) {
    int nodes[2];
    for (std::uint64_t i = first; i < first + count; ++i) {
      const key of = key_of(thread, i);
      need(meet(*all, of, &nodes[0]) == nullptr && meet(*all, of, &nodes[1]) == &nodes[0], "no match");
    }
  };
}
#elif defined(PEER_BOOST)
constexpr const char* claim = "queue";
step make_step() {
  auto all = std::make_shared<boost::lockfree::queue<record, boost::lockfree::fixed_sized<true>>>(queue_size - 2);
  return [=](std::uint32_t, std::uint64_t first, std::uint64_t count) {
    record in{};
    record out{};
    for (std::uint64_t i = first; i < first + count; ++i) {
      in.words[0] = i;
      need(all->push(in) && all->pop(out), "nothing in the queue");
    }
  };
}
#elif defined(PEER_BOOST_STACK) || defined(PEER_BOOST_LIST)
constexpr const char* claim = "pool";
// The numbers of packets that are free: one is taken out, and put back.
step make_step() {
  constexpr std::uint32_t packets = 4096;
#if defined(PEER_BOOST_STACK)
  using list = boost::lockfree::stack<std::uint32_t, boost::lockfree::fixed_sized<true>>;
#else
  using list = boost::lockfree::queue<std::uint32_t, boost::lockfree::fixed_sized<true>>;
#endif
  auto all = std::make_shared<list>(packets);
  for (std::uint32_t i = 0; i < packets; ++i) need(all->push(i), "no room for a packet");
  return [=](std::uint32_t, std::uint64_t, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint32_t packet = 0;
      need(all->pop(packet) && all->push(packet), "there is no packet");
    }
  };
}
#elif defined(PEER_MOODYCAMEL)
constexpr const char* claim = "queue";
step make_step() {
  auto all = std::make_shared<moodycamel::ConcurrentQueue<record>>(queue_size);
  return [=](std::uint32_t, std::uint64_t first, std::uint64_t count) {
    const moodycamel::ProducerToken push{*all};
    moodycamel::ConsumerToken pop{*all};
    record in{};
    record out{};
    for (std::uint64_t i = first; i < first + count; ++i) {
      in.words[0] = i;
      need(all->enqueue(push, in), "no room in the queue");
      while (!all->try_dequeue(pop, out)) {
      }
    }
  };
}
#endif

void pin(std::uint32_t core, const cpu_set_t& allowed) {
  std::uint32_t seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != core % static_cast<std::uint32_t>(CPU_COUNT(&allowed))) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

void measure(int index, std::uint32_t threads, double seconds) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  const step all = make_step();
  std::atomic<std::uint32_t> ready{0};
  std::vector<double> counts(threads);
  std::vector<double> rates(threads);
  std::vector<std::thread> workers;
  for (std::uint32_t thread = 0; thread < threads; ++thread) {
    workers.emplace_back([&, thread] {
      pin(thread, allowed);
      all(thread, 0, 4096);
      // [peer_components.ready] release -> [peer_components.start]: this thread's warm-up is over.
      ready.fetch_add(1, std::memory_order_release);
      // [peer_components.start] acquire <- [peer_components.ready]: everybody's is.
      while (ready.load(std::memory_order_acquire) < threads) std::this_thread::yield();
      const auto begin = std::chrono::steady_clock::now();
      std::uint64_t count = 0;
      double took = 0;
      for (; took < seconds; count += 4096) {
        all(thread, count, 4096);
        took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      }
      counts[thread] = static_cast<double>(count);
      rates[thread] = static_cast<double>(count) / took;
    });
  }
  for (std::thread& each : workers) each.join();
  double total = 0;
  for (const double each : rates) total += each;
  std::sort(counts.begin(), counts.end());
  const double median = (counts[(threads - 1) / 2] + counts[threads / 2]) / 2;
  std::printf("sample %d %.6g 0 0 %.4g\n", index, total, counts[0] / median);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    char name[32];
    unsigned threads = 0;
    double milliseconds = 0;
    need(std::sscanf(argv[i], "%31[^:]:%u:%lf", name, &threads, &milliseconds) == 3 && threads > 0, "this is no point");
    if (std::strcmp(name, claim) == 0) measure(i - 1, threads, milliseconds / 1000);
  }
  return 0;
}
