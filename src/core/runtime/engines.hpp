// The matching engines of a runtime, by id.
//
// **Threads**: any. Pollers look ids up without a lock; threads that are in no poll do so as brief readers; making and
// ending takes a lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "core/matching/engine_state.hpp"
#include "core/runtime/brief_readers.hpp"
#include "weft/detail/id_table.hpp"
#include "weft/matching_engine.hpp"

namespace weft::core {

class engines {
 public:
  explicit engines(std::uint32_t rank_count) : standard_{default_matching_engine, {}, rank_count} {}

  /// **Errors**: invalid_argument for options that exclude each other, and for an id that is reserved, in use, or was
  /// withdrawn on this `rank`.
  [[nodiscard]] engine_state& make(const matching_engine_options& options, std::uint32_t rank,
                                   std::uint32_t rank_count);
  /// From now on no poll that begins finds the id; `remove` follows once none that has begun can. Returns what the
  /// table of ids left over (`id_table::compact`).
  [[nodiscard]] detail::id_table<>::outdated withdraw(std::uint32_t id) noexcept;
  void remove(std::uint32_t id) noexcept;

  [[nodiscard]] engine_state& standard() noexcept { return standard_; }
  /// **Threads**: those in a poll.
  [[nodiscard]] detail::id_entry find(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {detail::presence::present, &standard_};
    return ids_.look_up(id);
  }
  /// **Threads**: those in no poll.
  [[nodiscard]] detail::id_entry find_outside(std::uint32_t id) noexcept {
    if (id == default_matching_engine) [[likely]]
      return {detail::presence::present, &standard_};
    return readers_.read([&] { return ids_.look_up(id); });
  }
  /// For other looks at engines of threads that are in no poll.
  [[nodiscard]] brief_readers& readers() noexcept { return readers_; }
  /// `engine_state` by id, but for the default engine.
  [[nodiscard]] const detail::id_table<>& ids() const noexcept { return ids_; }
  /// Engines that are there, but for the default one.
  [[nodiscard]] std::size_t count() {
    const std::scoped_lock lock{mutex_};
    return made_.size();
  }

 private:
  engine_state standard_;
  std::mutex mutex_;
  std::map<std::uint32_t, engine_state> made_;
  brief_readers readers_;
  std::uint32_t next_id_ = matching_engine_ids_max;
  detail::id_table<> ids_;
};

}  // namespace weft::core
