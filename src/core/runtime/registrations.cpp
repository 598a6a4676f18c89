// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/registrations.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assertion.hpp"
#include "core/runtime/named_objects.hpp"
#include "weft/completion_queue.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

// Null: the id is in use, or was used before.
remote_entry* registrations::add_entry(completion& target, std::uint32_t id, buffer_allocator* allocator) {
  if (leaving_.size() >= leaving_max_) {
    std::erase_if(leaving_, [](const auto& each) { return each.second.owner.has_all_back(); });
    leaving_max_ = 2 * leaving_.size() + 16;  // so that this check costs little per registration
  }
  auto* queue = dynamic_cast<completion_queue*>(&target);
  auto* slots = queue != nullptr && queue->bounded_ ? &*queue->bounded_ : nullptr;
  return add_named(entries_, ids_, id, target, slots, allocator);
}

void registrations::add(completion& target, std::uint32_t id, buffer_allocator* allocator, std::uint32_t rank) {
  if (id >= remote_completion_ids_max) {
    throw error{errc::invalid_argument,
                fmt::format("register_completion: id {} is reserved for the library; ids are below {}", id,
                            remote_completion_ids_max)};
  }
  if (target.is_for_posts_alone_) {
    throw error{
        errc::invalid_argument,
        fmt::format("register_completion: id {} is given for a batch, which counts its own posts alone; register "
                    "another object for messages of peers",
                    id)};
  }
  const std::scoped_lock lock{mutex_};
  if (add_entry(target, id, allocator) == nullptr) {
    throw error{errc::invalid_argument,
                fmt::format("register_completion: id {} {} on rank {}; ids are never used twice", id,
                            taken_because(ids_, id), rank)};
  }
  // [registration.made] relaxed: the thread that destroys the object has seen the end of its registrations.
  target.registrations_.fetch_add(1, std::memory_order_relaxed);
}

std::string registrations::describe(std::uint32_t id) {
  const std::unique_lock lock{mutex_, std::try_to_lock};
  const auto found = lock ? entries_.find(id) : entries_.end();
  if (found == entries_.end()) return fmt::format("the completion object with id {}", id);
  auto* const slots = found->second.queue;
  if (slots == nullptr) return fmt::format("the completion object with id {}", id);
  return fmt::format("the completion_queue with id {} ({} records, {} fit in a lane)", id, slots->approximate_size(),
                     slots->capacity());
}

void registrations::add_internal(completion& target, std::uint32_t id) {
  const std::scoped_lock lock{mutex_};
  static_cast<void>(add_entry(target, id, nullptr));
}

base::id_table<>::outdated registrations::withdraw(std::uint32_t id) noexcept {
  const std::scoped_lock lock{mutex_};
  ids_.withdraw(id);
  return ids_.compact();
}

// An entry with memory in records stays until that memory has come back.
void registrations::remove(completion& target, std::uint32_t id) noexcept {
  const std::scoped_lock lock{mutex_};
  const auto gone = entries_.find(id);
  WEFT_ASSERT_CHECKED(gone != entries_.end());
  if (gone->second.owner.has_all_back()) {
    entries_.erase(gone);
  } else {
    leaving_.insert(entries_.extract(gone));
  }
  // [registration.gone] relaxed: as [registration.made] says.
  target.registrations_.fetch_sub(1, std::memory_order_relaxed);
}

bool registrations::have_memory_out() const noexcept {
  const auto has_all_back = [](const auto& named) { return named.second.owner.has_all_back(); };
  return !std::ranges::all_of(entries_, has_all_back) || !std::ranges::all_of(leaving_, has_all_back);
}

}  // namespace weft::core
