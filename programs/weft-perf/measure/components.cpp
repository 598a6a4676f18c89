// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/measure/components.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include "core/matching/matching_table.hpp"
#include "core/memory/packet_pool.hpp"
#include "net/packet_stride.hpp"
#include "weft-perf/limits/handover.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/machine.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/detail/zeroed_memory.hpp"
#include "weft/error.hpp"

namespace weft::perf {
namespace {

constexpr std::uint64_t batch = 4096;

// Does `count` operations from number `first` on; false: something was not as it has to be.
using step = std::function<bool(std::uint32_t thread, std::uint64_t first, std::uint64_t count)>;

class owned_pool {
 public:
  owned_pool() : memory_(count * net::packet_stride(bytes)), packets{memory_.data(), count, bytes} {}

 private:
  static constexpr std::uint32_t count = 4096;
  static constexpr std::uint32_t bytes = 512;
  std::vector<std::byte> memory_;

 public:
  core::packet_pool packets;
};

step pool_step() {
  return [all = std::make_shared<owned_pool>()](std::uint32_t, std::uint64_t, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t packet = all->packets.try_get();
      if (packet == core::packet_pool::none) return false;
      all->packets.put(packet);
    }
    return true;
  };
}

step matching_step() {
  using table = core::basic_matching_table<>;
  return [all = std::make_shared<table>(1U << 16)](std::uint32_t thread, std::uint64_t first, std::uint64_t count) {
    table::node send;
    table::node receive;
    send.side = core::match_side::send;
    receive.side = core::match_side::receive;
    const auto insert = [&](table::node& mine, table::node*& found) {
      core::match_result answer{};
      while ((answer = all->insert(mine, found)) == core::match_result::busy) {
      }
      return answer;
    };
    for (std::uint64_t i = first; i < first + count; ++i) {
      // Each by itself: a copy of a key that was just written word by word is read in pairs of words, and waits until
      // both are in the cache.
      send.key = core::make_match_key(1, match_policy::rank_tag, thread, i % 4096);
      receive.key = core::make_match_key(1, match_policy::rank_tag, thread, i % 4096);
      table::node* found = nullptr;
      if (insert(send, found) != core::match_result::inserted) return false;
      if (insert(receive, found) != core::match_result::matched || found != &send) return false;
    }
    return true;
  };
}

// As large as a completion queue is where nothing else is said.
step queue_step() {
  using queue = detail::laned_queue<detail::raw_record>;
  return
      [all = std::make_shared<queue>(std::size_t{1} << 12)](std::uint32_t, std::uint64_t first, std::uint64_t count) {
        detail::raw_record record{};
        detail::raw_record out{};
        for (std::uint64_t i = first; i < first + count; ++i) {
          record.tag = i;
          if (!all->try_push(record)) return false;
          // Another thread may have claimed a place and not filled it yet.
          while (!all->try_pop(out)) {
          }
        }
        return true;
      };
}

const std::map<std::string, step (*)()> makers{{"pool", pool_step}, {"matching", matching_step}, {"queue", queue_step}};

struct worker_result {
  double count = 0;
  double rate = 0;
  bool good = true;
};

worker_result work(const step& all, std::uint32_t thread, std::uint32_t threads, std::atomic<std::uint32_t>& ready,
                   double seconds) {
  const pinned_here pinned{thread};
  worker_result out;
  out.good = all(thread, 0, batch);
  // [components.ready] acq_rel -> [components.start]: this thread's warm-up is over.
  ready.fetch_add(1, std::memory_order_acq_rel);
  // [components.start] acquire <- [components.ready]: everybody's is.
  while (ready.load(std::memory_order_acquire) < threads) std::this_thread::yield();
  const auto begin = clock::now();
  std::uint64_t count = 0;
  double took = 0;
  for (; took < seconds && out.good; count += batch) {
    out.good = all(thread, count, batch);
    took = std::chrono::duration<double>(clock::now() - begin).count();
  }
  out.count = static_cast<double>(count);
  out.rate = out.count / took;
  return out;
}

}  // namespace

const std::vector<std::string>& component_names() {
  static const std::vector<std::string> names{"pool", "matching", "queue"};
  return names;
}

sample measure_component(const std::string& name, std::uint32_t threads, double seconds) {
  sample out;
  const step all = makers.at(name)();
  out.before_ns = measure_handover_here();
  std::vector<worker_result> results(threads);
  std::atomic<std::uint32_t> ready{0};
  {
    std::vector<std::jthread> workers;
    for (std::uint32_t i = 0; i < threads; ++i) {
      workers.emplace_back([&, i] { results[i] = work(all, i, threads, ready, seconds); });
    }
  }
  out.after_ns = measure_handover_here();
  std::vector<double> counts;
  for (const worker_result& each : results) {
    if (!each.good) throw error{errc::invalid_state, fmt::format("{}: an operation did not do what it has to", name)};
    out.value += each.rate;
    counts.push_back(each.count);
  }
  out.slowest_to_median = slowest_to_median(std::move(counts));
  return out;
}

}  // namespace weft::perf
