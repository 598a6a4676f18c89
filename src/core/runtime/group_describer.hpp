// SPDX-License-Identifier: BSD-3-Clause
// What the layer of collectives says about its messages, for the report of a process in which nothing moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/report.hpp"

namespace weft::detail {
class report_names;
}

namespace weft::core {

/// Receives or messages in the engine of all groups that have found no match.
struct unmatched_step {
  bool is_receive;
  std::uint32_t rank;  // rank from which the receive takes a message, or the message's source
  std::uint64_t tag;
  std::size_t count;
};

class group_describer {
 public:
  /// Adds lines about `steps`. `names`: of a library over Weft, or null. A thread of the library calls it: it may wait
  /// for no lock that is held for long. **Errors**: std::bad_alloc.
  virtual void describe(base::report& into, std::span<const unmatched_step> steps,
                        const detail::report_names* names) = 0;

 protected:
  ~group_describer() = default;
};

}  // namespace weft::core
