// SPDX-License-Identifier: BSD-3-Clause
#include "weft/progress_thread.hpp"

#include "base/leave_to_parent.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {
namespace {

device& checked(device& through) {
  if (!through.is_shared()) {
    throw error{errc::invalid_argument,
                "progress_thread: the device is one thread's own; make it with {.shared = true} to let another thread "
                "make progress on it"};
  }
  return through;
}

}  // namespace

progress_thread::progress_thread(device& through, const wait_options& options)
    : through_{&checked(through)}, options_{options}, stopped_{through.runtime()}, thread_{[this] {
        base::serve_others();
        core::parking& lot = through_->state_->runtime().parking();
        lot.begin_service(through_->index());
        // [progress_thread.stop] acquire <- [progress_thread.end]: carries nothing else.
        const auto is_over = [this] { return stops_.load(std::memory_order_acquire); };
        while (!through_->wait(stopped_, is_over, options_)) {
        }
        lot.end_service(through_->index());
      }} {}

progress_thread::~progress_thread() {
  if (copy_.is_copy()) {
    base::leave_to_parent(thread_);
    return;
  }
  if (std::this_thread::get_id() == thread_.get_id()) {
    base::misuse("a progress_thread is destroyed by its own thread: inside a handler or hook, or by an exit() there");
  }
  // [progress_thread.end] release -> [progress_thread.stop]: carries nothing else.
  stops_.store(true, std::memory_order_release);
  static_cast<void>(stopped_.signal(completion_record{}));  // wakes the thread
  thread_.join();
}

}  // namespace weft
