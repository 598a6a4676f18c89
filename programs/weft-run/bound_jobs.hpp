// Other jobs of this machine whose ranks are bound to their shares of its cores.
//
// Each holds a socket in the abstract namespace, whose name has its processors: it is gone with the job, however that
// ends, and every user reads the names in /proc/net/unix. Jobs in other network namespaces don't see each other.
#pragma once

#include <hwloc.h>

#include <memory>

#include "weft-run/descriptor.hpp"

namespace weft::run {

struct bitmap_destroyer {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using bitmap = std::unique_ptr<hwloc_bitmap_s, bitmap_destroyer>;

/// Says that this job is bound to `processors`, as long as the descriptor is open; closed where that can't be said.
[[nodiscard]] descriptor announce_binding(hwloc_const_bitmap_t processors);

/// Adds the processors of all jobs that have said so. False: no memory.
[[nodiscard]] bool find_bound_jobs(hwloc_bitmap_t taken);

}  // namespace weft::run
