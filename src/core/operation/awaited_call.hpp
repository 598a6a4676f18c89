// SPDX-License-Identifier: BSD-3-Clause
// A call that waits for one operation, on the stack of its fiber or thread; it is the context of that operation.
//
// Cost of its end: the record, written in place, and the wake-up.
#pragma once

#include <utility>

#include "base/waiter.hpp"
#include "weft/completion.hpp"

namespace weft::core {

struct awaited_call {
  /// The operation is complete. The call may have returned, and this object have ended, when this returns.
  void complete(completion_record&& signalled) noexcept {
    record = std::move(signalled);
    end.come();
  }

  completion_record record;
  base::waiter end;
};

}  // namespace weft::core
