// SPDX-License-Identifier: BSD-3-Clause
// What a runtime knows for the report of a process in which nothing moves (base/standstill.hpp).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/standstill.hpp"
#include "core/runtime/group_describer.hpp"
#include "net/ring/sleep_word.hpp"

namespace weft::core {

class runtime_state;

class runtime_witness final : public base::witness {
 public:
  explicit runtime_witness(runtime_state& runtime) noexcept : runtime_{&runtime} {}

  [[nodiscard]] sight look() noexcept override;
  [[nodiscard]] bool is_neglected(base::clock::time_point now, base::clock::duration patience) noexcept override;
  void note_move() noexcept override;
  void describe(base::report& into) override;
  void add_counters(base::report& into) override;

  /// Lets `groups` describe messages of collectives; null: nothing is known of them. **Blocking**: until a report that
  /// asks the last one has been made.
  void use(group_describer* groups) noexcept {
    const std::scoped_lock lock{layers_mutex_};
    groups_ = groups;
  }
  /// The names of a library over Weft; null: none. **Blocking**: until a report that uses the last ones has been made.
  void use(const detail::report_names* names) noexcept {
    const std::scoped_lock lock{layers_mutex_};
    // [witness.names] release -> [witness.named]: the names are made.
    names_.store(names, std::memory_order_release);
  }
  [[nodiscard]] const detail::report_names* names() const noexcept {
    // [witness.named] acquire <- [witness.names]
    return names_.load(std::memory_order_acquire);
  }

 private:
  // The counts of all devices at a time.
  struct devices_seen;
  [[nodiscard]] devices_seen look_at_devices();
  void describe_devices(base::report& into);
  void describe_progress(base::report& into, const devices_seen& seen);
  void describe_retries(base::report& into, const devices_seen& seen);
  void describe_matching(base::report& into);
  void describe_groups(base::report& into, const std::vector<unmatched_step>& steps);
  void describe_operations(base::report& into);
  void describe_credits(base::report& into);
  void describe_kept(base::report& into);
  void describe_ends(base::report& into);

  runtime_state* runtime_;
  std::mutex layers_mutex_;
  group_describer* groups_ = nullptr;
  std::atomic<const detail::report_names*> names_{nullptr};  // written with the lock
  sight last_;
  // Counts at the beginning of the standstill.
  std::array<std::uint64_t, net::slots_max> calls_{};  // calls of each device
  std::uint64_t retries_ = 0;
  // The device that no thread polled at the last looks.
  struct unpolled_device {
    std::uint64_t calls = 0;
    base::clock::time_point since{};
    base::clock::time_point unread_since{};  // the first look at messages that wait there; the epoch: none wait
    base::clock::duration neglected{};       // so long messages have waited there, more or less; 0: not too long
  };
  std::array<unpolled_device, net::slots_max> unpolled_{};
  base::witness_entry entry_{*this};
};

}  // namespace weft::core
