// SPDX-License-Identifier: BSD-3-Clause
// The completion objects that peers may name by id.
//
// **Threads**: any. Pollers look ids up without a lock; making and ending a registration takes one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/id_table.hpp"
#include "base/log.hpp"
#include "core/runtime/allocator_owner.hpp"
#include "weft/completion.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/raw_record.hpp"

namespace weft::core {

/// A registered completion object. Records may outlive a registration: the entry lives until their memory has come
/// back.
struct remote_entry {
  remote_entry(completion& object, detail::laned_queue<detail::raw_record>* slots, buffer_allocator* allocator) noexcept
      : target{&object}, queue{slots}, owner{allocator} {}

  completion* target;
  // The queue inside of `target`, if that is a bounded completion_queue: records are written in place into its slots.
  detail::laned_queue<detail::raw_record>* queue;
  allocator_owner owner;
  base::said_once told_of_memory;
};

class registrations {
 public:
  /// **Errors**: invalid_argument for an id that is reserved, in use, or was withdrawn on this `rank`.
  void add(completion& target, std::uint32_t id, buffer_allocator* allocator, std::uint32_t rank);
  /// Registers an object of the library's own, with an id that users can't have.
  void add_internal(completion& target, std::uint32_t id);
  /// A poll that begins from now on does not find the id; call `remove` when all polls that began before have ended
  /// (ends_of_objects.hpp).
  /// Returns the old table of ids, if there is a new one (`id_table::compact`).
  [[nodiscard]] base::id_table<>::outdated withdraw(std::uint32_t id) noexcept;
  void remove(completion& target, std::uint32_t id) noexcept;

  /// Whether `object`, which is being destroyed, still has registrations.
  [[nodiscard]] static bool are_of(const completion& object) noexcept {
    return object.registrations_.load(std::memory_order_relaxed) != 0;  // [own] see [registration.made]
  }
  /// `remote_entry` by id.
  [[nodiscard]] const base::id_table<>& ids() const noexcept { return ids_; }
  /// Whether records of objects registered now or before still own memory.
  [[nodiscard]] bool have_memory_out() const noexcept;
  /// The object with this id, in words.
  [[nodiscard]] std::string describe(std::uint32_t id);
  /// The number of entries, with withdrawn ones that are still needed. For tests.
  [[nodiscard]] std::size_t count() {
    const std::scoped_lock lock{mutex_};
    return entries_.size() + leaving_.size();
  }

 private:
  [[nodiscard]] remote_entry* add_entry(completion& target, std::uint32_t id, buffer_allocator* allocator);

  std::mutex mutex_;
  std::map<std::uint32_t, remote_entry> entries_;
  std::map<std::uint32_t, remote_entry> leaving_;  // withdrawn, with memory in records
  std::size_t leaving_max_ = 16;                   // their number that triggers the next check
  base::id_table<> ids_;
};

}  // namespace weft::core
