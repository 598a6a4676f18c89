// Which processors each rank may run on.
#pragma once

#include <hwloc.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "weft-run/options.hpp"

namespace weft::run {

/// Objects with processors that weft-run may use are dealt out in the machine's order, and from the start again
/// when there are more ranks than objects.
class binding {
 public:
  /// **Errors** weft::error if the machine's shape can't be read or has no such object.
  explicit binding(const bind_rule& rule);

  /// Whether so many ranks share objects.
  [[nodiscard]] bool crowded(std::uint32_t ranks) const noexcept;
  /// Binds the calling process as `rank`. **Returns** false with errno set if the system refuses.
  [[nodiscard]] bool apply(std::uint32_t rank) const noexcept;

 private:
  struct destroyer {
    void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
  };

  void find_objects();

  bind_rule rule_;
  std::unique_ptr<hwloc_topology, destroyer> topology_;
  std::vector<hwloc_obj_t> objects_;
};

}  // namespace weft::run
