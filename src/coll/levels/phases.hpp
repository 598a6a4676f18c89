// SPDX-License-Identifier: BSD-3-Clause
// A schedule of collectives within the nodes of a group and between them, one after the other.
//
// A rank begins a phase when all steps of its earlier phases have run; ranks need not be in one phase.
#pragma once

#include <cstdint>
#include <span>

#include "coll/args/collective_args.hpp"
#include "coll/schedule/algorithm.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// The phases of a schedule, each at most once.
enum class phase : std::uint8_t { within_nodes, between_nodes, within_nodes_again };

class phases {
 public:
  /// The members of a node, at most; so there are labels enough for two phases.
  static constexpr std::uint32_t members_max = schedule::labels_max / 2;

  /// The begins of the input and the output of a phase.
  struct buffers {
    part input;
    part output;
  };

  explicit phases(schedule& out) noexcept : out_{out} {}

  /// Adds the steps that `which` makes for `args`, which are this rank's among `members`: its ranks are their
  /// indices. Ranks that are no members leave the phase out. **Errors**: std::bad_alloc.
  void add(phase now, algorithm_function which, const collective_args& args, std::span<const std::uint32_t> members,
           const buffers& memory);

 private:
  // The step behind all steps from `first` on.
  [[nodiscard]] step_ref end_of(std::uint32_t first);

  schedule& out_;
  step_ref last_;
};

}  // namespace weft::coll
