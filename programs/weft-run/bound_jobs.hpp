// SPDX-License-Identifier: BSD-3-Clause
// Other jobs of this machine whose ranks are bound to their shares of its cores.
//
// Each holds sockets in the abstract namespace whose names have its processors: they are gone with the job, however
// that ends, and every user reads the names in /proc/net/unix. A name has 107 bytes, so a job holds as many sockets as
// it takes. Jobs in other network namespaces don't see each other.
#pragma once

#include <hwloc.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft-run/descriptor.hpp"

namespace weft::run {

struct bitmap_destroyer {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using bitmap = std::unique_ptr<hwloc_bitmap_s, bitmap_destroyer>;

/// One job of this machine has it at a time, from before it looks at the other jobs until it has announced its own
/// choice of cores, so that two jobs that start together don't take the same ones.
class choice_lock {
 public:
  /// Waits for the jobs that choose now, at most so long. **Returns** nothing if they take longer, or no socket can be
  /// made.
  [[nodiscard]] static std::optional<choice_lock> wait_for(std::chrono::milliseconds timeout);

 private:
  explicit choice_lock(descriptor listener) noexcept : listener_{std::move(listener)} {}
  descriptor listener_;  // its name is the lock; jobs that wait are connected to it, until they see it hang up
};

/// The names whose sockets say that the job of process `pid` is bound to `processors`.
[[nodiscard]] std::vector<std::string> announcements_of(pid_t pid, hwloc_const_bitmap_t processors);

/// Adds the processors that such a name has. False: no memory. Anybody may choose a name: one that is not well formed
/// adds nothing.
[[nodiscard]] bool add_announced(std::string_view name, hwloc_bitmap_t taken);

/// Says that this job is bound to `processors`, as long as the descriptors are open. **Returns** none where that can't
/// be said.
[[nodiscard]] std::vector<descriptor> announce_binding(hwloc_const_bitmap_t processors);

/// Adds the processors of all jobs that have said so. False: no memory.
[[nodiscard]] bool find_bound_jobs(hwloc_bitmap_t taken);

}  // namespace weft::run
