// A job whose ranks are threads of one process: for tests, where sanitizers see everything that ranks share.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/runtime.hpp"

namespace weft::test {

class local_job {
 public:
  explicit local_job(std::uint32_t ranks) noexcept : ranks_{ranks} {}

  /// Runs `body` once for each rank, each on a thread of its own with a runtime of its own, all over one mapping of
  /// each segment. The runtimes are destroyed when all bodies have returned.
  ///
  /// **Blocking**: until then. **Errors**: the first exception that a body throws is thrown on; a rank that waits for
  /// one that has thrown waits for ever, so bodies bound their waits.
  void run(const std::function<void(runtime&)>& body) const;

  /// The state of a runtime, for tests of the library's internals.
  [[nodiscard]] static core::runtime_state& state_of(runtime& of) noexcept { return *of.state_; }

 private:
  std::uint32_t ranks_;
};

}  // namespace weft::test
