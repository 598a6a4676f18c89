// SPDX-License-Identifier: BSD-3-Clause
// The ranks of this machine and the processors that they may run on, which are divided among them if the user asks for
// it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/processors.hpp"
#include "net/transport.hpp"

namespace weft::core {

class neighbours {
 public:
  /// **Threads**: one, before other threads use this object.
  void find(std::span<const std::unique_ptr<net::transport>> transports, std::uint32_t self, std::uint32_t ranks);
  /// Ranks that may all run on exactly the processors of this one take equal parts of the cores: all of them do so, or
  /// none where there are too few. Binds the calling thread, and threads that it starts from now on, to its part. Ranks
  /// that were bound before are left as they are. **Threads**: as for `find`.
  void divide_cores();

  /// The processors that `rank` may run on; none if that isn't known.
  [[nodiscard]] base::processor_set processors_of(std::uint32_t rank) const;
  /// Whether another rank may run on processors of this one.
  [[nodiscard]] bool has_company() const;

 private:
  std::uint32_t self_ = 0;
  std::vector<std::pair<std::uint32_t, base::processor_set>> all_;  // first: rank
};

}  // namespace weft::core
