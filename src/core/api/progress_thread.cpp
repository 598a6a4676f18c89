// SPDX-License-Identifier: BSD-3-Clause
#include "weft/progress_thread.hpp"

#include "base/leave_to_parent.hpp"
#include "base/long_wait.hpp"
#include "base/misuse.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft {
namespace {

device& checked(device& dev) {
  if (!dev.is_shared()) {
    throw error{errc::invalid_argument,
                "progress_thread: the device is one thread's own; make it with {.shared = true} to let another thread "
                "make progress on it"};
  }
  return dev;
}

}  // namespace

progress_thread::progress_thread(weft::device& dev, const wait_options& options)
    : device_{&checked(dev)}, options_{options}, stopped_{dev.runtime()}, thread_{[this] {
        base::serve_others();
        core::parking& lot = device_->state_->runtime().parking();
        lot.begin_service(device_->index());
        const completion* const stopped = &stopped_;
        // Workers and other threads that it serves may share its core: it gives way to them.
        const core::parking::awaited events{.objects = {&stopped, 1}, .filter = {}, .is_server = true};
        const auto is_over = [](void* me) {
          // [progress_thread.stop] acquire <- [progress_thread.end]: carries nothing else.
          return static_cast<progress_thread*>(me)->stops_.load(std::memory_order_acquire);
        };
        while (!lot.wait({*device_->state_, device_->state_->runtime().devices().standard()}, events, is_over, this,
                         options_)) {
        }
        lot.end_service(device_->index());
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
