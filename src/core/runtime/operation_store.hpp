// SPDX-License-Identifier: BSD-3-Clause
// The operations of a runtime, how many of them and of unexpected messages there may be, and the bytes for all of them.
#pragma once

#include "base/config.hpp"
#include "core/memory/state_budget.hpp"
#include "core/operation/operations.hpp"
#include "core/runtime/state_bounds.hpp"

namespace weft::core {

class operation_store {
 public:
  /// **Errors**: those of `state_bounds_of`.
  operation_store(const base::settings& settings, bool is_default_shared)
      : bounds_{state_bounds_of(settings, is_default_shared)},
        budget_{bounds_.bytes_max},
        operations_{bounds_.posts, bounds_.receives, budget_} {}

  [[nodiscard]] const state_bounds& bounds() const noexcept { return bounds_; }
  [[nodiscard]] state_budget& budget() noexcept { return budget_; }
  [[nodiscard]] core::operations& operations() noexcept { return operations_; }

 private:
  state_bounds bounds_;
  state_budget budget_;
  core::operations operations_;
};

}  // namespace weft::core
