// SPDX-License-Identifier: BSD-3-Clause
// A job whose ranks are threads of one process: for tests, where sanitizers see everything that ranks share.
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <utility>

#include "weft/runtime.hpp"
#include "weft/runtime_options.hpp"

namespace weft::test {

class local_job {
 public:
  explicit local_job(std::uint32_t ranks) noexcept : ranks_{ranks} {}
  /// Each rank makes its runtime with `options`.
  local_job(std::uint32_t ranks, runtime_options options)
      : local_job{ranks, [given = std::move(options)](std::uint32_t) { return given; }} {}
  /// Each rank makes its runtime with its own options, `options(rank)`. A template, as designated initializers are
  /// never meant for it.
  template <class OptionsOfRank>
  requires std::is_invocable_r_v<runtime_options, OptionsOfRank&, std::uint32_t> local_job(std::uint32_t ranks,
                                                                                           OptionsOfRank options)
      : ranks_{ranks}, options_{std::move(options)} {}
  template <class WriteRanksAndMembersInOrderOf = runtime_options>
  explicit local_job(...) = delete;  // write the number of ranks, and members of runtime_options in their order

  /// Runs `body` once for each rank, each on a thread of its own with a runtime of its own, all over one mapping of
  /// each segment. The runtimes are destroyed when all bodies have returned.
  ///
  /// **Blocking**: until then. **Errors**: the first exception that a body throws is thrown on; a rank that waits for
  /// one that has thrown waits for ever, so bodies bound their waits.
  void run(const std::function<void(runtime&)>& body) const;
  template <class WriteFunctionOf = void(runtime&)>
  void run(...) const = delete;  // a function that does not fit

  /// Collectives of groups that `rt` makes from now on take the ranks to share cores, or to have cores of their own,
  /// whatever this machine has: their rules depend on that. All ranks call it with one value.
  static void assume_beyond_processors(runtime& rt, bool are_beyond) noexcept;

  /// The state of a runtime, for tests of the library's internals.
  [[nodiscard]] static core::runtime_state& state_of(runtime& rt) noexcept { return *rt.state_; }

 private:
  std::uint32_t ranks_;
  std::function<runtime_options(std::uint32_t rank)> options_;
};

}  // namespace weft::test
