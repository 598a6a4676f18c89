// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a measurement: the first half of them begins, and each has its partner in the second half. The last one
// of an odd number has none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "weft-perf/limits/handover.hpp"
#include "weft/weft.hpp"

namespace weft::perf {

class team {
 public:
  /// Collective. Where `is_placed`, threads are to be put on any core of the job's: each rank may then use what its
  /// launcher has given to all ranks of its machine. **Errors**: `invalid_argument` for a rank that is alone.
  explicit team(weft::runtime& rt, bool is_placed = true);

  [[nodiscard]] weft::runtime& runtime() const noexcept { return rt_; }
  [[nodiscard]] std::uint32_t pairs() const noexcept { return rt_.size() / 2; }
  [[nodiscard]] std::uint32_t pair() const noexcept { return rt_.rank() % pairs(); }
  [[nodiscard]] bool begins() const noexcept { return rt_.rank() < pairs(); }
  [[nodiscard]] bool has_partner() const noexcept { return rt_.rank() < 2 * pairs(); }
  [[nodiscard]] std::uint32_t partner() const noexcept {
    return begins() ? rt_.rank() + pairs() : rt_.rank() - pairs();
  }

  /// A number of ids for completions that no point has used before; alike on all ranks.
  [[nodiscard]] std::uint32_t new_ids(std::uint32_t count) noexcept {
    return std::exchange(next_id_, next_id_ + count);
  }

  /// Swaps a few bytes with the partner. Collective over the two.
  [[nodiscard]] std::vector<std::byte> swap_with_partner(std::span<const std::byte> mine);

  /// At rank 0: the numbers of all ranks in the order of ranks; elsewhere empty. Collective.
  [[nodiscard]] std::vector<double> gather(const std::vector<double>& mine);

  /// The hand-over of a cache line between rank 0 and its partner in ns; 0 where it can't be measured, and on other
  /// ranks. Collective.
  [[nodiscard]] double handover();
  /// The limit of what rank 0 and its partner say to each other, as `handover`. Collective.
  [[nodiscard]] double exchange_ns(exchange exchanged);

 private:
  void send(std::uint32_t to, std::span<const std::byte> bytes);
  [[nodiscard]] std::vector<std::byte> receive(std::uint32_t from);
  template <class Measure>
  double between_partners(const Measure& measure);
  void connect_line();
  void unite_processors();

  weft::runtime& rt_;
  weft::completion_queue inbox_;
  weft::counter sent_;
  weft::registration arrivals_;
  std::uint32_t next_id_ = 100;
  std::map<std::uint32_t, std::uint64_t> sent_to_;
  std::map<std::uint32_t, std::uint64_t> received_from_;
  // What has come before it was asked for: by source and number.
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::vector<std::byte>> early_;
  std::unique_ptr<shared_lines> line_;
  std::optional<exchange_side> side_;
};

}  // namespace weft::perf
