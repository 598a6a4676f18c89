// SPDX-License-Identifier: BSD-3-Clause
// Which processors each rank may run on.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "weft-run/descriptor.hpp"
#include "weft-run/options.hpp"

namespace weft::run {

/// Objects with processors that weft-run may use are dealt out in the machine's order, in which those are near each
/// other that share caches and memory: as many to each rank as the rule says, and from the start again when there are
/// too few; or all of them in equal portions. Portions leave out cores of other jobs that were dealt out in portions,
/// and where there are fewer than ranks nobody is bound.
class binding {
 public:
  /// **Errors** weft::error if the machine's shape can't be read or has no such object; never for portions.
  binding(const bind_rule& rule, std::uint32_t ranks);

  /// Whether ranks share objects.
  [[nodiscard]] bool is_crowded() const noexcept;
  /// Binds the calling process as `rank`. **Returns** false with errno set if the system refuses, and the user has
  /// asked for it.
  [[nodiscard]] bool apply(std::uint32_t rank) const noexcept;

 private:
  struct destroyer {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
  };

  void load();
  void find_objects();
  void leave_to_other_jobs();

  bind_rule rule_;
  std::uint32_t ranks_;
  std::unique_ptr<hwloc_topology, destroyer> topology_;  // null: nobody is bound
  std::vector<hwloc_obj_t> objects_;
  std::vector<descriptor> announced_;
};

}  // namespace weft::run
