// SPDX-License-Identifier: BSD-3-Clause
// The rounds of a batch of operations.
#include "weft/batch.hpp"

#include <utility>

#include "base/leave_to_parent.hpp"
#include "base/misuse.hpp"
#include "core/door/door.hpp"
#include "graph/end_signal.hpp"
#include "weft/detail/thread_slot.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft {

batch::batch(weft::runtime& owner) : completion{owner}, signals_{std::make_unique<core::end_signals>()} {
  is_for_posts_alone_ = true;
}

batch::~batch() {
  if (is_copy()) {
    base::leave_to_parent(signals_);
    return;
  }
  end_signals();
  // An exception is leaving the scope: operations that were cancelled above have signalled nothing.
  if (!is_open() && outstanding() == 0) {
    note_failure(errc::cancelled);
    end_round();
  }
}

status batch::close(completion& done, const close_batch_options& options) {
  if (is_copy()) base::refuse_to_child("a batch");
  if (&done.runtime() != &runtime())
    throw error{errc::invalid_argument, "batch::close: the completion object was made from another runtime"};
  if (&done == this) throw error{errc::invalid_argument, "batch::close: a batch can't signal itself"};
  if (!is_open())
    throw error{errc::invalid_state,
                "batch::close: the batch is closed already, and its operations are not complete; wait for the object "
                "that it signals"};
  signals_->prepare();
  done_ = &done;
  context_ = options.context;
  core::promise::make(done);
  // This call counts as an operation, so that a thread that sees the end can't destroy the batch before it returns.
  core::promise::make(*this);
  core::promise::begin(*this);
  status out = status::posted(0);
  if (ends_.close(sum(promised_), detail::this_thread_slot())) {
    // [batch.has_failed] relaxed: [batch.sum] has ordered it.
    if (options.allow_done && failed_.load(std::memory_order_relaxed) == 0) {
      take_outcome();
      ends_.reopen();
      core::promise::cancel(done);
      out = status::done();
    } else {
      end_round();
    }
  }
  core::promise::end(*this);
  return out;
}

completion::answer batch::signal(completion_record&& record) noexcept {
  weft::runtime& owner = runtime();
  {
    const completion_record consumed{std::move(record)};
    if (consumed.error() != errc::none) [[unlikely]]
      note_failure(consumed.error());
  }
  if (ends_.arrive(detail::this_thread_slot())) end_round();
  signalled(owner, this);
  return answer::taken;
}

void batch::note_failure(errc why) noexcept {
  errc first = errc::none;
  // [batch.error] relaxed -> [batch.outcome]: [batch.sum] hands it on.
  error_.compare_exchange_strong(first, why, std::memory_order_relaxed);
  // [batch.failed] relaxed -> [batch.outcome]: [batch.sum] hands it on.
  failed_.fetch_add(1, std::memory_order_relaxed);
}

// All operations of the round have ended.
void batch::take_outcome() noexcept {
  // [batch.outcome] relaxed <- [batch.failed], [batch.error]: no other thread uses them until the batch is open.
  last_failed_ = failed_.load(std::memory_order_relaxed);
  last_error_ = error_.load(std::memory_order_relaxed);
  failed_.store(0, std::memory_order_relaxed);          // [own]
  error_.store(errc::none, std::memory_order_relaxed);  // [own]
}

// The batch may be used again from `reopen` on, and from the signal on destroyed: its destructor waits for this
// thread's own signal of the batch.
void batch::end_round() noexcept {
  take_outcome();
  completion& done = *done_;
  core::end_signal& signal = signals_->take();
  const std::shared_ptr<core::shared_by_ends> shared = signals_->shared();
  core::device_state& standard = *runtime().default_device().state_;
  detail::raw_record raw;
  raw.peer = runtime().rank();
  raw.opcode = operation::batch;
  raw.tag = last_failed_;
  raw.error = last_error_;
  raw.location = detail::payload_location::borrowed;
  raw.refer({nullptr, 0, nullptr, context_});
  ends_.reopen();
  signal.give(done, raw, standard, shared);
}

}  // namespace weft
