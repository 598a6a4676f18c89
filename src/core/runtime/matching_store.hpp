// SPDX-License-Identifier: BSD-3-Clause
// Where the sends and receives of a rank match, and what waits there: posted receives and unexpected messages, in the
// table of all unordered engines or in an engine of its own; and messages whose id is not registered yet.
//
// Each part guards itself; a message moves from one to the next under the lock of the part that it enters.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/config.hpp"
#include "core/matching/kept_messages.hpp"
#include "core/matching/matching_table.hpp"
#include "core/matching/order_rest.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "core/memory/pool_bounds.hpp"
#include "core/memory/state_budget.hpp"
#include "core/runtime/engines.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

/// How many buckets the matching table begins with.
inline constexpr std::uint32_t matching_buckets_first = 1024;

/// **Threads**: any.
class matching_store {
 public:
  matching_store(const base::settings& settings, const pool_bounds& unexpected, state_budget& budget,
                 std::uint32_t rank_count)
      : table_{std::min(matching_buckets_first, base::matching_bucket_count(settings)),
               base::matching_bucket_count(settings)},
        unexpected_{unexpected, budget, bounds_of_sends(settings), rank_count},
        engines_{rank_count},
        kept_{settings.unexpected_bytes_max} {}

  matching_store(const matching_store&) = delete;
  matching_store& operator=(const matching_store&) = delete;
  ~matching_store();

  [[nodiscard]] matching_table& table() noexcept { return table_; }
  [[nodiscard]] unexpected_sends& unexpected() noexcept { return unexpected_; }
  [[nodiscard]] core::engines& engines() noexcept { return engines_; }
  /// Messages for ids that are not registered yet.
  [[nodiscard]] kept_messages& kept() noexcept { return kept_; }
  /// What ordered engines have left to calls of progress.
  [[nodiscard]] core::order_rest& order_rest() noexcept { return order_rest_; }

  /// Numbered messages of `source` were dropped with their engine: a call of progress returns their credits.
  void count_dropped(std::uint32_t source, std::uint32_t count) noexcept;
  /// Called for an engine that ends: returns its credits, and takes as many as its numbers lack.
  void end_numbers(engine_state& ending, std::uint32_t rank_count) noexcept;

  void add_to(runtime_counters& out) noexcept;
  /// How many messages in the table have a payload that a pool or a transport has lent. **Threads**: no other one uses
  /// the runtime.
  [[nodiscard]] std::int64_t payloads() noexcept;
  /// Called at the end, whatever the user and the peers have done.
  void assert_consistent() noexcept;

 private:
  // Messages that wait for receives leave most packets to others, however few there are. A single packet for them says
  // that the program is to find out where it counts on buffers: then no bytes are copied before senders are asked.
  [[nodiscard]] static send_bounds bounds_of_sends(const base::settings& settings) noexcept {
    return {.packets_max = std::min(settings.unexpected_packets_max, settings.packet_count / 4),
            .copied_bytes_max = settings.unexpected_packets_max == 1 ? 0 : settings.unexpected_bytes_max,
            .packet_bytes = settings.packet_bytes};
  }

  matching_table table_;
  unexpected_sends unexpected_;
  core::engines engines_;
  kept_messages kept_;
  core::order_rest order_rest_{kept_};
};

}  // namespace weft::core
