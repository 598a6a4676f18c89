// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/inbox.hpp"

#include "base/assertion.hpp"
#include "fiber/fiber_state.hpp"

namespace weft::fibers {

inbox::~inbox() { WEFT_ASSERT(is_empty()); }

void inbox::put(fiber_state& last) noexcept {
  const std::scoped_lock lock{mutex_};
  last.behind = nullptr;
  (last_ == nullptr ? first_ : last_->behind) = &last;
  last_ = &last;
  // [inbox.put] seq_cst -> [inbox.look]: before the look for sleeping workers.
  count_.fetch_add(1, std::memory_order_seq_cst);
}

fiber_state* inbox::take() noexcept {
  if (is_empty()) return nullptr;
  const std::scoped_lock lock{mutex_};
  fiber_state* const out = first_;
  if (out == nullptr) return nullptr;
  first_ = out->behind;
  if (first_ == nullptr) last_ = nullptr;
  count_.fetch_sub(1, std::memory_order_relaxed);  // [hint] a worker that reads the old number finds nothing
  return out;
}

}  // namespace weft::fibers
