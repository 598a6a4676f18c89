// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/matching_store.hpp"

#include "base/assertion.hpp"

namespace weft::core {

matching_store::~matching_store() {
  static_cast<void>(table_.for_each([&](const match_node& node) {
    if (node.side != match_side::send) return;
    unexpected_.release_copy(static_cast<const unexpected_message&>(static_cast<const ordered_message&>(node)));
  }));
}

void matching_store::count_dropped(std::uint32_t source, std::uint32_t count) noexcept {
  if (unexpected_.credits().put_in_order(source, count)) order_rest_.note_notices();
}

void matching_store::end_numbers(engine_state& ending, std::uint32_t rank_count) noexcept {
  for (std::uint32_t rank = 0; rank < rank_count; ++rank) {
    if (const std::int32_t count = ending.numbers.credits(rank); count != 0)
      unexpected_.credits().put_back(rank, count);
  }
}

void matching_store::add_to(runtime_counters& out) noexcept {
  out.messages_unexpected = kept_.count();
  const match_counts waiting = table_.count();
  out.receives_waiting = waiting.receives;
  out.sends_waiting = waiting.sends;
}

std::int64_t matching_store::payloads() noexcept {
  std::int64_t out = 0;
  static_cast<void>(table_.for_each([&](const match_node& node) {
    if (node.side != match_side::send) return;
    const auto& message = static_cast<const unexpected_message&>(static_cast<const ordered_message&>(node));
    if (message.arrival.owner != nullptr && !unexpected_.is_copied(message)) ++out;
  }));
  return out;
}

void matching_store::assert_consistent() noexcept {
  WEFT_ASSERT(kept_.is_consistent());
  WEFT_ASSERT(unexpected_.budget().is_consistent());
  WEFT_ASSERT_CHECKED(table_.count().unseen_buckets == 0);  // no thread has left one locked
}

}  // namespace weft::core
