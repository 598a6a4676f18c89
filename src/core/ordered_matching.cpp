#include "core/ordered_matching.hpp"

#include <atomic>

namespace weft::core {
namespace {

constexpr std::uint32_t ordered_place_mark = 0x8000'0000;  // places in the matching table are below

std::uint32_t new_place() noexcept {
  static std::atomic<std::uint32_t> made{0};
  // [ordered.number] relaxed: a number and nothing else.
  return ordered_place_mark | made.fetch_add(1, std::memory_order_relaxed);
}

std::size_t index_of(match_policy policy) noexcept { return static_cast<std::size_t>(policy); }

template <class Node>
std::array<keyed_queues<Node>, ordered_policy_count> make_queues(std::uint32_t bucket_count) {
  return {keyed_queues<Node>{match_policy::rank_and_tag, bucket_count},
          keyed_queues<Node>{match_policy::rank_only, bucket_count},
          keyed_queues<Node>{match_policy::tag_only, bucket_count}, keyed_queues<Node>{match_policy::none, 1}};
}

}  // namespace

ordered_matching::ordered_matching(std::uint32_t source_count, std::uint32_t bucket_count, std::uint32_t first_sequence)
    : place_{new_place()},
      source_count_{source_count},
      mask_{bucket_count - 1},
      sources_{std::make_unique<source[]>(source_count)},
      early_{std::make_unique<ordered_message*[]>(bucket_count)},
      receives_{make_queues<match_node>(bucket_count)},
      messages_{make_queues<ordered_message>(bucket_count)} {
  for (std::uint32_t rank = 0; rank < source_count; ++rank) sources_[rank].next_sequence = first_sequence;
}

match_result ordered_matching::try_match(const match_key& key, std::uint32_t sequence, match_node*& receive,
                                         matched_messages& released) noexcept {
  const entered inside{lock_};
  if (!inside) return match_result::busy;
  switch (turn_of(key, sequence)) {
    case turn::never: return match_result::refused;
    case turn::later: return match_result::none;
    case turn::now: break;
  }
  match_node* found = oldest_receive(key);
  if (found == nullptr) return match_result::none;
  take_out(*found);
  receive = found;
  ++sources_[key.rank].next_sequence;
  deliver_early(key.rank, released);
  return match_result::matched;
}

match_result ordered_matching::arrive(ordered_message& message, matched_messages& released) noexcept {
  const entered inside{lock_};
  if (!inside) return match_result::busy;
  switch (turn_of(message.key, message.sequence)) {
    case turn::never: return match_result::refused;
    case turn::later: return keep_early(message) ? match_result::inserted : match_result::refused;
    case turn::now: break;
  }
  const bool is_matched = deliver(message, released);
  ++sources_[message.key.rank].next_sequence;
  deliver_early(message.key.rank, released);
  return is_matched ? match_result::matched : match_result::inserted;
}

match_result ordered_matching::post(match_node& receive, ordered_message*& found) noexcept {
  const entered inside{lock_};
  if (!inside) return match_result::busy;
  const std::size_t policy = index_of(receive.key.policy);
  if (ordered_message* oldest = messages_[policy].oldest(receive.key); oldest != nullptr) {
    take_out(*oldest);
    oldest->receive = &receive;
    found = oldest;
    return match_result::matched;
  }
  receive.stamp = posted_++;
  receives_[policy].append(receive);
  // [ordered.posted] relaxed -> [ordered.still]: under the lock.
  receive.place.store(place_, std::memory_order_relaxed);
  return match_result::inserted;
}

match_result ordered_matching::take(const match_key& pattern, ordered_message*& found) noexcept {
  const entered inside{lock_};
  if (!inside) return match_result::busy;
  ordered_message* oldest = messages_[index_of(pattern.policy)].oldest(pattern);
  if (oldest == nullptr) return match_result::none;
  take_out(*oldest);
  found = oldest;
  return match_result::matched;
}

match_result ordered_matching::take_all(matched_messages& messages, match_node*& receives) noexcept {
  const entered inside{lock_};
  if (!inside) return match_result::busy;
  auto& all = messages_[index_of(match_policy::none)];
  while (ordered_message* message = all.any()) {
    take_out(*message);
    messages.add(*message);
  }
  for (std::uint32_t bucket = 0; bucket <= mask_ && early_count_ != 0; ++bucket) {
    while (ordered_message* message = early_[bucket]) {
      early_[bucket] = message->next;
      --sources_[message->key.rank].early_count;
      --early_count_;
      messages.add(*message);
    }
  }
  for (auto& each : receives_) {
    while (match_node* receive = each.any()) {
      take_out(*receive);
      receive->behind.set(receives);
      receives = receive;
    }
  }
  return match_result::removed;
}

bool ordered_matching::try_count(ordered_counts& out) noexcept {
  const entered inside{lock_};
  if (!inside) return false;
  out = {.early = early_count_, .messages = messages_[0].size()};
  for (const auto& each : receives_) out.receives += each.size();
  return true;
}

// Numbers wrap around: one is early if it is less than half of all numbers ahead.
ordered_matching::turn ordered_matching::turn_of(const match_key& key, std::uint32_t sequence) const noexcept {
  if (key.rank >= source_count_) return turn::never;
  const auto ahead = static_cast<std::int32_t>(sequence - sources_[key.rank].next_sequence);
  return ahead == 0 ? turn::now : ahead > 0 ? turn::later : turn::never;
}

match_node* ordered_matching::oldest_receive(const match_key& key) const noexcept {
  match_node* oldest = nullptr;
  for (const auto& each : receives_) {
    match_node* candidate = each.oldest(key);
    if (candidate != nullptr && (oldest == nullptr || candidate->stamp < oldest->stamp)) oldest = candidate;
  }
  return oldest;
}

void ordered_matching::take_out(match_node& receive) noexcept {
  receives_[index_of(receive.key.policy)].remove(receive);
  // [ordered.gone] relaxed -> [ordered.still]: under the lock.
  receive.place.store(0, std::memory_order_relaxed);
}

void ordered_matching::take_out(ordered_message& message) noexcept {
  for (auto& each : messages_) each.remove(message);
}

// True: matched.
bool ordered_matching::deliver(ordered_message& message, matched_messages& released) noexcept {
  match_node* receive = oldest_receive(message.key);
  message.receive = receive;
  if (receive == nullptr) {
    for (auto& each : messages_) each.append(message);
    return false;
  }
  take_out(*receive);
  released.add(message);
  return true;
}

void ordered_matching::deliver_early(std::uint32_t rank, matched_messages& released) noexcept {
  source& from = sources_[rank];
  while (from.early_count != 0) {
    ordered_message* next = take_early(rank, from.next_sequence);
    if (next == nullptr) return;
    deliver(*next, released);
    ++from.next_sequence;
  }
}

// Neighbours in number are neighbours in the table: a source's early messages spread as in a ring.
ordered_message*& ordered_matching::early_bucket(std::uint32_t rank, std::uint32_t sequence) const noexcept {
  constexpr std::uint32_t stride = 0x9e3779b1;
  return early_[(rank * stride + sequence) & mask_];
}

// False: a message of this number is there.
bool ordered_matching::keep_early(ordered_message& message) noexcept {
  ordered_message*& bucket = early_bucket(message.key.rank, message.sequence);
  for (const ordered_message* each = bucket; each != nullptr; each = each->next) {
    if (each->key.rank == message.key.rank && each->sequence == message.sequence) return false;
  }
  message.next = bucket;
  bucket = &message;
  ++sources_[message.key.rank].early_count;
  ++early_count_;
  return true;
}

ordered_message* ordered_matching::take_early(std::uint32_t rank, std::uint32_t sequence) noexcept {
  ordered_message** link = &early_bucket(rank, sequence);
  while (*link != nullptr && ((*link)->key.rank != rank || (*link)->sequence != sequence)) link = &(*link)->next;
  ordered_message* found = *link;
  if (found == nullptr) return nullptr;
  *link = found->next;
  --sources_[rank].early_count;
  --early_count_;
  return found;
}

}  // namespace weft::core
