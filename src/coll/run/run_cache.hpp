// SPDX-License-Identifier: BSD-3-Clause
// The runs of a group's collectives that are cached for later calls with equal arguments.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "coll/args/collective_args.hpp"
#include "coll/group/group_runs.hpp"
#include "coll/group/group_state.hpp"
#include "coll/run/persistent_run.hpp"
#include "coll/schedule/algorithm.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// **Threads**: one at a time.
class run_cache final : public group_runs {
 public:
  /// The cache of a group, which the first call makes. **Errors**: std::bad_alloc.
  [[nodiscard]] static run_cache& instance(group_state& group);

  /// A run of this that is not under way; null if it finds none. It looks at a few of them, one after the other around
  /// the list, so that thousands that are under way cost no more.
  [[nodiscard]] persistent_run* find(const algorithm& algorithm, const collective_args& args,
                                     const reduction& reduction);
  /// Adds a run. If there are more than a few, runs that the last `find` has seen and that are not under way go.
  /// **Errors**: std::bad_alloc.
  persistent_run& add(std::unique_ptr<persistent_run> run);
  /// Ends the runs that only tell others of a refusal, and are complete.
  void end_refusals();

  [[nodiscard]] bool is_running() const noexcept override;
  void abandon() noexcept override;

 private:
  static constexpr std::size_t few = 16;

  std::vector<std::unique_ptr<persistent_run>> runs_;
  std::size_t next_ = 0;  // the next search begins there
};

}  // namespace weft::coll
