// SPDX-License-Identifier: BSD-3-Clause
// A group, as one member knows it, and the runs of its collectives.
//
// All groups share one matching engine of the library's own. The tag of a message has the group, the number of the
// collective in it, and the label of the step.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "coll/args/node_map.hpp"
#include "coll/group/group_list.hpp"
#include "coll/group/group_names.hpp"
#include "coll/group/group_numbers.hpp"
#include "coll/group/group_runs.hpp"
#include "core/door/door.hpp"
#include "weft/buffer.hpp"
#include "weft/collectives.hpp"
#include "weft/counter.hpp"
#include "weft/device.hpp"
#include "weft/matching_engine.hpp"

namespace weft::coll {

/// Settings of all groups of a runtime.
struct group_settings {
  std::string_view algorithms;      // WEFT_COLL, or empty
  bool is_checked;                  // members compare their calls (checked.hpp)
  bool is_oversubscribed;           // ranks of the job are more than its processors
  std::uint32_t polls_before_wait;  // messages of members on other cores arrive within some calls of progress
};

/// The device that options of a group or a termination name, also by the name that it had before; null: none.
template <class Options>
[[nodiscard]] device* named_device(const Options& options) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return options.device != nullptr ? options.device : options.through;
#pragma GCC diagnostic pop
}

class group_state {
 public:
  /// `members`: ranks of the job; empty for all of them. `names`: of this rank; null for a name of the library's own.
  /// `list`: of the groups of the runtime.
  group_state(weft::runtime& owner, weft::device& device, group_name name, group_names* names, group_list& list,
              std::vector<std::uint32_t> members, std::uint32_t rank);
  ~group_state();
  group_state(const group_state&) = delete;
  group_state& operator=(const group_state&) = delete;

  [[nodiscard]] weft::runtime& runtime() const noexcept { return *runtime_; }
  [[nodiscard]] weft::device& device() const noexcept { return *device_; }
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t world_rank(std::uint32_t member) const noexcept {
    return members_.empty() ? member : members_[member];
  }
  [[nodiscard]] std::span<const std::uint32_t> members() const noexcept { return members_; }

  /// The nodes of the members, if there are several of them, and one has several members; null in other groups. The
  /// first call asks for all members' nodes. **Threads**: one at a time. **Errors**: std::bad_alloc.
  [[nodiscard]] const node_map* nodes() {
    if (!knows_nodes_) find_nodes();
    return nodes_.get();
  }
  [[nodiscard]] const group_settings& settings() const noexcept { return settings_; }
  /// Whether a collective may use this buffer's memory.
  [[nodiscard]] core::refused_memory check_memory(const const_buffer_ref& buffer) const noexcept;
  /// The engine of all groups.
  [[nodiscard]] engine_ref engine() const noexcept { return engine_; }
  [[nodiscard]] group_numbers& numbers() noexcept { return numbers_; }

  /// The counter of a short collective, which takes it until its end; null while one has it, and before the first. In a
  /// checked group it counts refusals. **Threads**: one at a time, whose fibers may be in several collectives.
  [[nodiscard]] std::unique_ptr<counter>& free_counter() noexcept { return arrived_; }
  /// True for the first call with each operation, for the log. **Threads**: one at a time.
  [[nodiscard]] bool is_first_short(collective_operation which) noexcept {
    const auto bit = static_cast<std::uint16_t>(1U << static_cast<unsigned>(which));
    const bool is_first = (logged_ & bit) == 0;
    logged_ = static_cast<std::uint16_t>(logged_ | bit);
    return is_first;
  }

  /// The thread that is in a call which starts collectives, in a checked group; 0: none.
  [[nodiscard]] std::atomic<std::uintptr_t>& caller() noexcept { return caller_; }

  /// Whether a collective that was posted is not complete, or a barrier of its numbers. **Threads**: one at a time;
  /// none if one is being started.
  [[nodiscard]] bool is_running() const noexcept;
  /// Ends these collectives. **Threads**: one at a time; none waits for a collective of the group.
  void abandon() noexcept;
  /// The runs of its collectives; null before the first. **Threads**: one at a time.
  [[nodiscard]] std::unique_ptr<group_runs>& runs() noexcept { return runs_; }

  /// The state that the door into core asks for.
  [[nodiscard]] static core::runtime_state& runtime_state_of(weft::runtime& owner) noexcept;

 private:
  friend class group_store;
  void find_nodes();

  weft::runtime* runtime_;
  weft::device* device_;
  engine_ref engine_;
  living_name name_;
  group_settings settings_;
  std::vector<std::uint32_t> members_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint16_t logged_ = 0;
  bool knows_nodes_ = false;
  std::atomic<std::uintptr_t> caller_{0};
  group_state* next_ending_ = nullptr;
  std::unique_ptr<node_map> nodes_;
  std::unique_ptr<counter> arrived_;
  group_numbers numbers_;
  std::unique_ptr<group_runs> runs_;
  listed_group entry_;  // the last member
};

}  // namespace weft::coll
