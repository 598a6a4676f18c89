// SPDX-License-Identifier: BSD-3-Clause
// The groups of a runtime: all its ranks, the names that live, and groups that have ended before their collectives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "coll/group/group_list.hpp"
#include "coll/group/group_names.hpp"
#include "coll/group/group_report.hpp"
#include "coll/group/group_state.hpp"

namespace weft::coll {

/// **Threads**: any.
class group_store {
 public:
  explicit group_store(weft::runtime& owner);
  ~group_store();
  group_store(const group_store&) = delete;
  group_store& operator=(const group_store&) = delete;

  /// The store of a runtime, which the first call makes. **Errors**: std::bad_alloc.
  [[nodiscard]] static group_store& instance(weft::runtime& owner);

  /// All ranks of the job, through the default device.
  [[nodiscard]] const std::shared_ptr<group_state>& world() const noexcept { return world_; }
  /// The names of the groups of this rank.
  [[nodiscard]] group_names& names() noexcept { return names_; }
  /// All groups, for reports.
  [[nodiscard]] group_list& list() noexcept { return list_; }
  /// A group of this name. When its last copy ends while collectives are under way, it lives until they are complete.
  /// **Errors**: std::bad_alloc.
  [[nodiscard]] std::shared_ptr<group_state> make(weft::runtime& owner, device& device, group_name name,
                                                  std::vector<std::uint32_t> members, std::uint32_t rank);
  /// How many groups have ended whose collectives were not complete at the end of the last group.
  [[nodiscard]] std::size_t ending() noexcept;

 private:
  void end(group_state* last) noexcept;

  group_names names_;
  group_list list_;
  group_report report_;
  std::shared_ptr<group_state> world_;
  std::mutex ending_mutex_;
  group_state* ending_ = nullptr;
};

}  // namespace weft::coll
