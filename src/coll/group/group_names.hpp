// SPDX-License-Identifier: BSD-3-Clause
// The names of the groups of a rank: which it gives to groups that it leads, and which of them live.
//
// A leader counts its groups, modulo 2^20. A name is given again only when no member of the new group has a group of
// that name. For its first 2^20 groups a leader need not ask; later the members vote on each number (`group.cpp`).
//
// Names that callers give (`group_options::name`) are a space of their own: leaders that no rank is.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_set>

#include "weft/group.hpp"

namespace weft::coll {

/// Names a group among all that its members are in: its first member's rank in the job, and that member's count of
/// groups. Numbers of groups that can't be are names of the library's own.
struct group_name {
  static constexpr unsigned leader_bits = 20;
  static constexpr unsigned number_bits = 20;
  static constexpr std::uint32_t own_leader = (1U << leader_bits) - 1;
  /// The leaders from here on, below `own_leader`, are parts of names that callers give.
  static constexpr std::uint32_t given_leader = own_leader - (group_names_max >> number_bits);

  std::uint32_t leader = own_leader;
  std::uint32_t number = 0;

  /// The name of a group to which callers give this one.
  [[nodiscard]] static group_name given(std::uint32_t name) noexcept {
    return {given_leader + (name >> number_bits), name & ((1U << number_bits) - 1)};
  }
  [[nodiscard]] bool is_own() const noexcept { return leader == own_leader; }
  [[nodiscard]] bool is_given() const noexcept { return leader >= given_leader && !is_own(); }
  /// The name that callers gave.
  [[nodiscard]] std::uint32_t given_name() const noexcept { return (leader - given_leader) << number_bits | number; }
};

/// **Threads**: any.
class group_names {
 public:
  explicit group_names(std::uint32_t rank) noexcept : rank_{rank} {}

  /// A number that a leader suggests, as a message has it.
  struct suggestion {
    std::uint32_t number = 0;
    /// Whether the leader has had a group of this number before.
    std::uint32_t was_used = 0;
  };

  /// A number for a group whose first member this rank is; the name lives from now on. **Errors**: invalid_state if as
  /// many groups as there are numbers live; std::bad_alloc.
  [[nodiscard]] suggestion take();
  /// Whether a group of this name lives here.
  [[nodiscard]] bool lives(group_name name) const;
  /// The name lives from now on, if it does not yet. Names of the library's own do nothing. **Errors**: std::bad_alloc.
  void begin(group_name name);
  void end(group_name name) noexcept;

  /// The next number is this one, as if there had been as many groups before.
  void count_from(std::uint64_t number) noexcept;

 private:
  [[nodiscard]] static constexpr std::uint64_t key(group_name name) noexcept {
    return std::uint64_t{name.leader} << group_name::number_bits | name.number;
  }

  std::uint32_t rank_;
  mutable std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::unordered_set<std::uint64_t> living_;
};

/// A name that lives as long as this does. **Errors**: std::bad_alloc.
class living_name {
 public:
  /// Null: a name of the library's own.
  living_name(group_names* names, group_name name) : names_{names}, name_{name} {
    if (names_ != nullptr) names_->begin(name_);
  }
  ~living_name() {
    if (names_ != nullptr) names_->end(name_);
  }
  living_name(const living_name&) = delete;
  living_name& operator=(const living_name&) = delete;

 private:
  group_names* names_;
  group_name name_;
};

}  // namespace weft::coll
