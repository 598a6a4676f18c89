// SPDX-License-Identifier: BSD-3-Clause
// The runs of a group's collectives, as far as the group knows them.
#pragma once

namespace weft::coll {

class group_runs {
 public:
  virtual ~group_runs() = default;
  /// Whether one of them is under way. **Threads**: one at a time; none if one is being started.
  [[nodiscard]] virtual bool is_running() const noexcept = 0;
  /// Ends the runs that are under way. **Threads**: one at a time; none waits for one of them.
  virtual void abandon() noexcept = 0;
};

}  // namespace weft::coll
