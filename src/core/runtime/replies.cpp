// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/replies.hpp"

#include "core/protocol/reply.hpp"

namespace weft::core {

// The counts are hints: threads that refuse or admit at one moment may disagree by a few.
bool replies::admits_more() noexcept {
  const std::uint32_t patience = patience_.load(std::memory_order_relaxed);         // [hint]
  const std::uint32_t refused = refusals_.fetch_add(1, std::memory_order_relaxed);  // [hint]
  if (refused < patience) return false;
  if (refused < patience + batch_) return true;
  refusals_.store(0, std::memory_order_relaxed);                                     // [hint]
  patience_.store(std::min(2 * patience, patience_max), std::memory_order_relaxed);  // [hint]
  return false;
}

completion::answer replies::signal(completion_record&& record) noexcept {
  const completion_record consumed{std::move(record)};
  static_cast<kept_reply*>(consumed.context())->end(running_callback::innermost()->device(), consumed.error());
  return answer::taken;
}

}  // namespace weft::core
