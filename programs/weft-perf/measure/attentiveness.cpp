// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `attentiveness`: how long messages wait whose device's thread computes (yan2025-mpi-extensions, 5.2).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "weft-perf/commands.hpp"
#include "weft-perf/measure/team.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t messages_max = std::size_t{1} << 16;  // of a round
constexpr std::chrono::microseconds between_messages{50};
// A thread makes progress for so many times as long as its tasks take: so mostly one of them is idle.
constexpr double progress_per_task = 3;

struct part {
  const char* name;
  double of_all;
};
constexpr std::array parts{part{"p50", 0.5}, part{"p90", 0.9}, part{"p99", 0.99}, part{"max", 1.0}};
using parts_ns = std::vector<double>;

/// One way for threads to look after devices: Weft's, or calls of progress that wait for each other.
struct variant {
  progress_policy policy;
  bool has_mutex;
};

struct setting {
  std::uint32_t threads;
  std::uint32_t devices;
  double task_us;
  double handler_us;
  double seconds;
  [[nodiscard]] bool computes() const { return threads < core_count(); }
};

std::uint64_t time_stamp() { return static_cast<std::uint64_t>(nanoseconds{clock::now().time_since_epoch()}.count()); }

// A device, and the lock that its threads would wait for.
struct guarded {
  guarded(weft::runtime& rt, progress_policy policy) : dev{rt, {.policy = policy}} {}
  weft::device dev;
  std::mutex mutex;
};

// Notes how long each message has waited; its tag says when it was posted.
class waits final : public completion {
 public:
  waits(weft::runtime& rt, double handler_us)
      : completion{rt}, handler_ns_{static_cast<std::uint64_t>(handler_us * 1000)}, ns_(messages_max) {}

  answer signal(completion_record&& record) noexcept override {
    const completion_record message{std::move(record)};
    const std::uint64_t here = time_stamp();
    // [attentiveness.begin] relaxed: hands out numbers; [attentiveness.note] publishes the times noted there.
    const std::uint64_t index = begun_.fetch_add(1, std::memory_order_relaxed);
    if (index < ns_.size()) ns_[index] = here > message.tag() ? static_cast<double>(here - message.tag()) : 1.0;
    while (time_stamp() < here + handler_ns_) {
    }
    // [attentiveness.note] release -> [attentiveness.count]: the time that each waited.
    handled_.fetch_add(1, std::memory_order_release);
    return answer::taken;
  }

  [[nodiscard]] std::uint64_t count() const noexcept {
    // [attentiveness.count] acquire <- [attentiveness.note]: the time that each waited.
    return handled_.load(std::memory_order_acquire);
  }

  /// Of all, which have come.
  [[nodiscard]] parts_ns sorted_parts() {
    const std::uint64_t all = count();
    ns_.resize(all);
    std::sort(ns_.begin(), ns_.end());
    parts_ns out;
    for (const part& each : parts) {
      out.push_back(ns_[static_cast<std::size_t>(each.of_all * static_cast<double>(all - 1) + 0.5)]);
    }
    return out;
  }

 private:
  std::uint64_t handler_ns_;
  std::vector<double> ns_;
  std::atomic<std::uint64_t> begun_{0};
  std::atomic<std::uint64_t> handled_{0};
};

// The rank where messages arrive: its threads compute, then make progress, again and again.
class workers {
 public:
  workers(weft::runtime& rt, const setting& workload, variant tried, std::uint32_t id)
      : workload_{workload},
        tried_{tried},
        waits_{rt, workload.handler_us},
        arrivals_{rt.register_completion(waits_, {.id = id})} {
    for (std::uint32_t i = 0; i < workload.devices; ++i) {
      devices_.emplace_back(rt, tried.has_mutex ? progress_policy::local : tried.policy);
    }
  }

  [[nodiscard]] std::vector<std::uint32_t> indices() const {
    std::vector<std::uint32_t> out;
    for (const guarded& each : devices_) out.push_back(each.dev.index());
    return out;
  }

  void start() {
    for (std::uint32_t i = 0; i < workload_.threads; ++i) threads_.emplace_back([this, i] { work(i); });
  }
  /// Ends once all `sent` have been handled.
  parts_ns finish(std::uint64_t sent) {
    const auto until = clock::now() + std::chrono::minutes{1};
    while (waits_.count() < sent && clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    // [attentiveness.stop] relaxed: nothing but the wish itself.
    stops_.store(true, std::memory_order_relaxed);
    threads_.clear();
    if (waits_.count() != sent) {
      throw error{errc::transport_failed, fmt::format("{} of {} messages came within a minute", waits_.count(), sent)};
    }
    return waits_.sorted_parts();
  }

 private:
  void work(std::uint32_t index) {
    std::minstd_rand random{index + 1};
    std::uniform_real_distribution<double> around{0.5, 1.5};
    const auto some = [&](double times) {
      return std::chrono::duration_cast<clock::duration>(
          std::chrono::duration<double, std::micro>(workload_.task_us * times * around(random)));
    };
    // [attentiveness.over] relaxed: nothing but the wish itself.
    const auto is_over = [this] { return stops_.load(std::memory_order_relaxed); };
    while (!is_over()) {
      const auto until = clock::now() + some(progress_per_task);
      for (unsigned quiet = 0; clock::now() < until && !is_over();) {
        if (progress(index % workload_.devices, random)) continue;
        if (!workload_.computes() && ++quiet % 8 == 0) std::this_thread::yield();
      }
      compute(some(1));
    }
  }

  // Where threads have no cores of their own, one that computes would keep others from theirs: it sleeps.
  void compute(clock::duration time) const {
    if (!workload_.computes()) return std::this_thread::sleep_for(time);
    const auto until = clock::now() + time;
    while (clock::now() < until) {
    }
  }

  bool progress(std::uint32_t own, std::minstd_rand& random) {
    if (!tried_.has_mutex) return devices_[own].dev.progress();
    if (tried_.policy == progress_policy::random) own = static_cast<std::uint32_t>(random() % devices_.size());
    if (tried_.policy != progress_policy::all) return blocking_progress(devices_[own]);
    bool moved = false;
    for (guarded& each : devices_) moved = blocking_progress(each) || moved;
    return moved;
  }
  static bool blocking_progress(guarded& found) {
    const std::scoped_lock lock{found.mutex};
    return found.dev.progress();
  }

  const setting& workload_;
  variant tried_;
  std::deque<guarded> devices_;
  waits waits_;
  registration arrivals_;
  std::atomic<bool> stops_{false};
  std::vector<std::jthread> threads_;
};

// Messages to each device in turn, now and then; each says in its tag when it was posted.
std::uint64_t send_some(team& all, std::uint32_t id, std::span<const std::uint32_t> devices, double seconds) {
  weft::device& dev = all.runtime().default_device();
  counter sent{all.runtime()};
  const auto until = clock::now() + std::chrono::duration<double>(seconds);
  std::uint64_t count = 0;
  do {
    std::this_thread::sleep_for(between_messages);
    const std::uint32_t to = devices[count % devices.size()];
    while (dev.post_am(all.partner(), {id}, const_buffer_ref{}, sent, {.tag = time_stamp(), .device = to}).is_retry()) {
      dev.progress();
    }
    ++count;
  } while (clock::now() < until && count < messages_max);
  return count;
}

template <class Number>
std::vector<Number> swap_numbers(team& all, const std::vector<Number>& mine) {
  const std::vector<std::byte> bytes = all.swap_with_partner(std::as_bytes(std::span{mine}));
  std::vector<Number> out(bytes.size() / sizeof(Number));
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(Number));
  return out;
}

// At rank 0: how long messages waited, by `parts`.
parts_ns run_once(team& all, const setting& workload, variant tried) {
  const std::uint32_t id = all.new_ids(1);
  parts_ns out;
  if (all.begins()) {
    const auto devices = swap_numbers(all, std::vector<std::uint32_t>{});
    all.runtime().barrier();
    const std::uint64_t count = send_some(all, id, devices, workload.seconds);
    static_cast<void>(swap_numbers(all, std::vector{count}));
  } else {
    workers here{all.runtime(), workload, tried, id};
    static_cast<void>(swap_numbers(all, here.indices()));
    all.runtime().barrier();
    here.start();
    std::this_thread::sleep_for(std::chrono::duration<double>(workload.seconds));  // leaves the cores to the workers
    out = here.finish(swap_numbers(all, std::vector<std::uint64_t>{}).at(0));
  }
  return all.gather(out);
}

// Besides the default device.
constexpr std::uint32_t devices_at_most = 62;

std::vector<std::uint32_t> devices_of(const options& chosen, std::uint32_t threads) {
  std::vector<std::uint32_t> out;
  if (chosen.devices.empty()) {
    const std::uint32_t most = std::min(threads, devices_at_most);
    for (std::uint32_t count = 1; count < most; count *= 2) out.push_back(count);
    out.push_back(most);
  } else {
    for (const std::uint32_t count : chosen.devices) {
      if (count <= threads) out.push_back(count);
    }
  }
  return out;
}

class point_of_attention {
 public:
  point_of_attention(const setting& workload, progress_policy policy)
      : workload_{workload}, policy_{policy}, weft_(parts.size()), mutex_(parts.size()) {}

  void add(bool has_mutex, const parts_ns& round) {
    for (std::size_t i = 0; i < std::min(round.size(), parts.size()); ++i) {
      (has_mutex ? mutex_ : weft_)[i].push_back(round[i]);
    }
  }

  void print(printer& out) const {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      figure each;
      each.claim = "attentiveness";
      each.detail = fmt::format("{} {}", name_of(policy_), parts[i].name);
      each.unit = "ns";
      each.mode = workload_.computes() ? "computing" : "sleeping";
      each.conditions.label = "unknown";  // the wait is for no hand-over
      each.conditions.pinning = "none";
      each.threads = workload_.threads;
      each.settings = {{"devices", workload_.devices},
                       {"task_ns", static_cast<std::uint64_t>(workload_.task_us * 1000)},
                       {"handler_ns", static_cast<std::uint64_t>(workload_.handler_us * 1000)}};
      each.weft = summarize(weft_[i]);
      if (!mutex_[i].empty()) each.peers["mutex"] = summarize(mutex_[i]);
      out.print(each);
    }
  }

 private:
  const setting& workload_;
  progress_policy policy_;
  std::vector<std::vector<double>> weft_;  // by part, of each round
  std::vector<std::vector<double>> mutex_;
};

void run_setting(team& all, const setting& workload, const options& chosen, printer& out) {
  const std::vector<progress_policy> policies = chosen.policies.empty()
                                                    ? std::vector{progress_policy::local, progress_policy::random,
                                                                  progress_policy::all, progress_policy::adaptive}
                                                    : chosen.policies;
  std::vector<point_of_attention> points;
  for (const progress_policy policy : policies) points.emplace_back(workload, policy);
  const std::uint32_t rounds = chosen.rounds == 0 ? 5 : chosen.rounds;
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < policies.size(); ++i) {
      for (const bool has_mutex : {false, true}) {
        if (has_mutex && policies[i] == progress_policy::adaptive) continue;  // no other library has that
        points[i].add(has_mutex, run_once(all, workload, {policies[i], has_mutex}));
      }
    }
  }
  if (all.runtime().rank() != 0) return;
  for (const point_of_attention& each : points) each.print(out);
}

}  // namespace

void run_attentiveness(const options& chosen) {
  weft::runtime rt;
  if (rt.size() != 2) {
    throw error{errc::invalid_argument,
                "attentiveness is measured between two ranks, as in: weft-run -n 2 weft-perf attentiveness"};
  }
  team all{rt};
  printer out{chosen.json, true};
  for (const std::uint32_t threads : chosen.threads.empty() ? std::vector{4U} : chosen.threads) {
    for (const std::uint32_t devices : devices_of(chosen, threads)) {
      run_setting(all, {threads, devices, chosen.task_us, chosen.handler_us, chosen.seconds}, chosen, out);
    }
  }
  rt.barrier();
}

}  // namespace weft::perf
