// SPDX-License-Identifier: BSD-3-Clause
// What the threads of one rank share in a run of all operations: engines, regions, and what arrives.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/all_operations_script.hpp"
#include "support/between_threads.hpp"
#include "weft/weft.hpp"

namespace weft::test::all_operations {

/// Ids, counted from `all_operations_load::first_id`.
namespace id {
inline constexpr std::uint32_t called = 0;   // active messages to a handler
inline constexpr std::uint32_t queued = 1;   // active messages to a queue
inline constexpr std::uint32_t signals = 2;  // of puts and gets
inline constexpr std::uint32_t seen = 3;     // a put's signal has been checked: its place may be used again
inline constexpr std::uint32_t handles = 4;
inline constexpr std::uint32_t unordered = 5;  // engines
inline constexpr std::uint32_t ordered = 6;
inline constexpr std::uint32_t receiver_first = 7;
inline constexpr std::uint32_t ordered_of_thread = 8;  // and on: of one thread index at all ranks
}  // namespace id

/// Memory for long active messages, which is short now and then.
class moody_allocator final : public buffer_allocator {
 public:
  void* allocate(std::size_t bytes, std::uint32_t source, std::uint64_t tag) noexcept override;
  void deallocate(void* memory, std::size_t bytes) noexcept override;
  [[nodiscard]] std::uint64_t allocated_bytes() const noexcept { return bytes_.value(); }

 private:
  tally<> bytes_;
  tally<std::uint32_t> calls_;
};

class rank_state {
 public:
  /// Collective.
  rank_state(runtime& rt, const script& all);

  rank_state(const rank_state&) = delete;
  rank_state& operator=(const rank_state&) = delete;

  /// Ends the process: operation `of`, where it concerns one, is not as it should be.
  [[noreturn]] void fail(const plan* planned, const std::string& description) const;
  void require(bool good, const plan* planned, const char* description) const {
    if (!good) [[unlikely]]
      fail(planned, description);
  }
  /// The operation of this rank's that `tag` says, coming from `source`; ends the process where there is none.
  const plan& expect(std::uint32_t source, std::uint64_t tag) const;
  /// Notes that `of` has arrived; it may not have before.
  void arrived(const plan& planned);
  /// That nothing but `of` is in `bytes`.
  void check_content(const plan& planned, std::span<const std::byte> bytes) const;
  void check_message(const completion_record& record) const;
  /// The signal of a put or get, and, of a put, what was put.
  const plan& check_signal(const completion_record& record) const;

  /// Whether all active messages and signals for this rank have come.
  [[nodiscard]] bool everything_came() const noexcept { return arrived_.value() == expected_; }
  [[nodiscard]] std::uint64_t arrived_count() const noexcept { return arrived_.value(); }
  [[nodiscard]] std::uint64_t expected_count() const noexcept { return expected_; }

  void one_is_through() noexcept { through_.add(); }
  [[nodiscard]] bool all_are_through() const noexcept { return through_.value() == script_.workload().threads(); }

  /// Where a thread's slot at `peer` is free again once the peer has looked into it.
  [[nodiscard]] flag& unseen(std::uint32_t thread, std::uint32_t peer, std::uint32_t region,
                             std::uint32_t slot) noexcept {
    return unseen_[((std::size_t{thread} * script_.ranks() + peer) * 2 + region) * script::slots + slot];
  }

  /// Once all ranks are through.
  void check_regions() const;
  void check_counters() const;

  [[nodiscard]] runtime& rt() const noexcept { return rt_; }
  [[nodiscard]] const script& plans() const noexcept { return script_; }
  [[nodiscard]] std::uint32_t id_of(std::uint32_t offset) const noexcept {
    return script_.workload().first_id + offset;
  }
  /// Of a send and its receive.
  [[nodiscard]] std::uint32_t engine_of(const plan& planned) const noexcept;
  [[nodiscard]] completion_queue& queued() noexcept { return queued_; }
  [[nodiscard]] completion_queue& signals() noexcept { return signals_; }
  [[nodiscard]] const remote_region& handle(std::uint32_t peer, std::uint32_t region) const noexcept {
    return handles_[std::size_t{peer} * 2 + region];
  }

 private:
  void exchange_handles();
  completion::answer take_called(completion_record&& record) noexcept;
  void take_seen(const completion_record& record) noexcept;

  struct called_function {
    rank_state* rank;
    completion::answer operator()(completion_record&& record) const noexcept {
      return rank->take_called(std::move(record));
    }
  };
  struct seen_function {
    rank_state* rank;
    void operator()(completion_record&& record) const noexcept { rank->take_seen(record); }
  };

  runtime& rt_;
  const script& script_;
  runtime_counters counted_before_;
  matching_engine unordered_, ordered_, receiver_first_;
  std::vector<std::unique_ptr<matching_engine>> ordered_of_threads_;
  std::vector<std::byte> users_memory_;
  memory_region librarys_region_, users_region_;
  std::vector<remote_region> handles_;
  std::unique_ptr<flag[]> unseen_;
  std::unique_ptr<flag[]> here_;  // of all operations: whether it has arrived
  std::uint64_t expected_ = 0;
  tally<> arrived_;
  tally<std::uint32_t> through_;  // threads
  tally<std::uint32_t> moods_;
  moody_allocator allocator_;
  handler<called_function> called_;
  handler<seen_function> seen_;
  completion_queue queued_, signals_;
  std::vector<registration> registrations_;
};

}  // namespace weft::test::all_operations
