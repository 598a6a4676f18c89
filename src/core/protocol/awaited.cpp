// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/awaited.hpp"

#include "base/assertion.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::awaited {

void count(device_state& dev, operation_state& operation) noexcept {
  WEFT_ASSERT_CHECKED(operation.peer < dev.rank_count());
  const bool is_transfer = operation.opcode == operation::put || operation.opcode == operation::atomic;
  operation.sending.awaited_in =
      dev.runtime().peers().flushes().begin(operation.peer, is_transfer, operation.transfer.region).bits();
}

void uncount(device_state& dev, const operation_state& operation) noexcept {
  WEFT_ASSERT_CHECKED(operation.peer < dev.rank_count());
  const flush_count count = flush_count::from(operation.sending.awaited_in);
  if (dev.runtime().peers().flushes().end(operation.peer, count, operation.transfer.region))
    dev.runtime().own().wake_flushes();
}

}  // namespace weft::core::awaited
