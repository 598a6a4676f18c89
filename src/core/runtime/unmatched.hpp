// SPDX-License-Identifier: BSD-3-Clause
// Receives and messages that have not found each other, side by side, for a report.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/report.hpp"
#include "core/matching/match_node.hpp"
#include "core/matching/ordered_matching.hpp"
#include "core/runtime/group_describer.hpp"

namespace weft::core {

struct engine_state;

class unmatched {
 public:
  /// Adds a receive or a message that waits in an engine of the runtime's table. `source` and `tag` are the message's.
  void add_receive(const match_key& key);
  void add_message(const match_key& key, std::uint32_t source, std::uint64_t tag);
  /// Adds all that wait in an ordered or receiver-first engine. The caller delivers `released`.
  void add_waiting(const engine_state& engine, matched_messages& released);

  /// Pairs that differ in one thing come first. `names`: of the library whose communicators the engines are; null:
  /// none. Leaves out the engine of all groups.
  void describe(base::report& into, const detail::report_names* names) const;
  /// What waits in the engine of all groups.
  [[nodiscard]] std::vector<unmatched_step> steps_of_groups() const;

 private:
  // Receives and messages of one description are counted together.
  struct item {
    std::uint32_t engine;
    match_policy policy;
    bool is_ordered;         // the engine compares no policies
    bool is_receiver_first;  // a send of this rank, or an announced receive of a peer
    std::uint32_t rank;
    std::uint64_t tag;
    auto operator<=>(const item&) const = default;

    [[nodiscard]] bool is_of_groups() const noexcept { return engine == group_matching_engine; }
  };
  struct items {
    std::map<item, std::size_t> all;
    std::size_t left_out = 0;

    void add(const item& added);
  };

  [[nodiscard]] static const char* difference(const item& receive, const item& message) noexcept;
  [[nodiscard]] static std::string receive_text(const item& wanted, std::size_t count,
                                                const detail::report_names* names);
  [[nodiscard]] static std::string message_text(const item& wanted, std::size_t count,
                                                const detail::report_names* names);

  items receives_;  // and sends in receiver-first engines, which wait for announced receives
  items messages_;
  std::size_t early_ = 0;         // early ones in ordered engines
  std::size_t busy_engines_ = 0;  // another thread held the lock
};

}  // namespace weft::core
