// SPDX-License-Identifier: BSD-3-Clause
// The matching engines of a runtime, by id.
//
// **Threads**: any. Pollers look ids up without a lock; threads outside of any poll do so as brief readers; making and
// ending an engine takes a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "base/id_table.hpp"
#include "core/matching/engine_state.hpp"
#include "core/runtime/brief_readers.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

class engines {
 public:
  /// A program may end engines of ever new ids, which don't follow each other, as MPI programs do by communicators.
  /// Only messages that come after thousands of later engines have ended would need the ids that are forgotten.
  static constexpr std::size_t ended_intervals_max = 1U << 14;

  explicit engines(std::uint32_t rank_count) : standard_{default_matching_engine, {}, rank_count} {}

  /// **Errors**: invalid_argument for options that exclude each other, and for an id that is reserved, in use, or was
  /// withdrawn on this `rank`.
  [[nodiscard]] engine_state& make(const matching_engine_options& options, std::uint32_t rank, std::uint32_t rank_count,
                                   const runtime_state& home);
  /// The engine of all groups, which the first call makes. **Errors**: std::bad_alloc.
  [[nodiscard]] engine_state& of_groups(std::uint32_t rank_count, const runtime_state& home);
  /// A poll that begins from now on does not find the id; call `remove` when all polls that began before have ended.
  /// Returns the old table of ids, if there is a new one (`id_table::compact`).
  [[nodiscard]] base::id_table<>::outdated withdraw(std::uint32_t id) noexcept;
  void remove(std::uint32_t id) noexcept;

  [[nodiscard]] engine_state& standard() noexcept { return standard_; }
  /// **Threads**: any inside a poll.
  [[nodiscard]] base::id_entry find(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {base::presence::present, &standard_};
    return ids_.look_up(id);
  }
  /// **Threads**: any outside of polls.
  [[nodiscard]] base::id_entry find_outside(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {base::presence::present, &standard_};
    return readers_.read([&] { return ids_.look_up(id); });
  }
  /// Guard other reads of engines by threads outside of any poll.
  [[nodiscard]] brief_readers& readers() noexcept { return readers_; }
  /// `engine_state` by id, without the default engine.
  [[nodiscard]] const base::id_table<>& ids() const noexcept { return ids_; }
  /// Calls `visit(engine)` for each engine, unless one is being made or ended just now. For reports.
  template <class Visit>
  void try_each(const Visit& visit) {
    visit(static_cast<const engine_state&>(standard_));
    const std::unique_lock lock{mutex_, std::try_to_lock};
    if (!lock) return;
    for (const auto& [id, each] : made_) visit(each);
  }
  /// The number of engines, without those of the library.
  [[nodiscard]] std::size_t count() {
    const std::scoped_lock lock{mutex_};
    return made_.size() - made_.count(std::uint32_t{group_matching_engine});
  }

 private:
  engine_state standard_;
  std::mutex mutex_;
  std::map<std::uint32_t, engine_state> made_;
  std::uint32_t engines_with_steps_ = 0;  // that count in steps what they put in order
  brief_readers readers_;
  std::uint32_t next_id_ = matching_engine_ids_max;
  base::id_table<> ids_{32, 32, ended_intervals_max};
};

}  // namespace weft::core
