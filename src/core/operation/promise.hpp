// SPDX-License-Identifier: BSD-3-Clause
// A signal that is owed to a completion object: promised by a post, begun, and ended. All that the library does with
// the inside of completion objects for it.
//
// Cost: a promise, a beginning and an end are each one store to a word that only this thread writes.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/callback_scope.hpp"
#include "core/operation/listed_field.hpp"
#include "core/operation/running_callback.hpp"
#include "weft/completion.hpp"
#include "weft/detail/laned_queue.hpp"
#include "weft/detail/thread_slot.hpp"

namespace weft::core {

/// The object that is owed a signal, and what the record of it has as context.
struct owed_signal {
  listed_field<completion*> target;
  void* context = nullptr;
};

class promise {
 public:
  static void make(completion& object) noexcept { object.count(object.promised_); }
  /// Whether the calling thread counts in a word of its own, without a function call: then `make_in_own_word` may be
  /// used.
  [[nodiscard]] static bool has_own_word(const completion& object) noexcept { return object.has_own_words(); }
  static void make_in_own_word(completion& object) noexcept { completion::count_in_own_word(object.promised_); }
  /// Lets a thread that sees the signal destroy the object; its destructor waits for `end`.
  static void begin(completion& object) noexcept { object.count(object.begun_); }
  static void end(completion& object) noexcept { object.count(object.ended_); }
  /// There was no room for a signal that has begun: it comes later.
  static void defer(completion& object) noexcept {
    make(object);  // first, so that it is missing at no moment
    end(object);
  }
  /// The signal that the calling thread has promised will not come.
  static void cancel(completion& object) noexcept { object.count_back(object.promised_); }

  /// Changes where the calling thread has made a promise and has not cancelled it. Beyond the first threads it changes
  /// with the promises of other such threads, too.
  [[nodiscard]] static std::uint32_t made_here(const completion& object) noexcept {
    const std::uint32_t slot = detail::this_thread_slot();
    const auto& word =
        slot < object.promised_.by_thread.size() ? object.promised_.by_thread[slot] : object.promised_.by_others;
    return word.load(std::memory_order_relaxed);  // [own]
  }
  /// Signals that were promised and have not begun.
  [[nodiscard]] static std::uint32_t open(const completion& object) noexcept {
    return object.promised_beyond(object.begun_);
  }

  /// Keeps a promise: gives `record` to `object` on behalf of device `dev`. False if the object is full, or if
  /// callbacks nest too deep for one more: then a call of progress gives it later. When this returns, the object may
  /// have been destroyed.
  [[nodiscard]] static bool keep(device_state& dev, completion& object, completion_record& record) noexcept {
    if (base::callback_scope::is_too_deep()) [[unlikely]]
      return false;
    begin(object);
    const bool taken = call(dev, object, record);
    if (taken) {
      end(object);
    } else {
      defer(object);
    }
    return taken;
  }
  /// Calls `object.signal`, which was not promised to `object`. Whether it has taken `record`.
  [[nodiscard]] static bool call(device_state& dev, completion& object, completion_record& record) noexcept {
    const base::callback_scope object_runs;
    const running_callback by_device{dev};
    return object.signal(std::move(record)) == completion::answer::taken;
  }

  /// The queue of `object`, if it is a bounded completion queue: a record can be written into it in place. Else null.
  [[nodiscard]] static detail::laned_queue<detail::raw_record>* queue_of(completion& object) noexcept {
    return object.queue_;
  }
  /// Whether a call waits for each of its operations: their contexts are `awaited_call`s.
  [[nodiscard]] static bool is_of_calls(const completion& object) noexcept { return object.is_of_calls_; }
  /// What takes the place of `object.signal` for simple receives; null: nothing does.
  [[nodiscard]] static completion::receive_function received_by(const completion& object) noexcept {
    return object.received_;
  }
  /// The count of `object`, if it is a counter: a signal without error changes nothing else. Else null.
  [[nodiscard]] static std::atomic<std::uint64_t>* count_of(completion& object) noexcept { return object.count_; }
};

}  // namespace weft::core
