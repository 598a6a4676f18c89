// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/descriptor_state.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/callback_scope.hpp"
#include "base/clock.hpp"
#include "base/leave_to_parent.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/runtime.hpp"
#include "weft/wait_descriptor.hpp"

namespace weft::core {
namespace {

base::descriptor open_event() {
  base::descriptor out{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
  if (out) return out;
  throw error{errc::transport_failed, fmt::format("wait_descriptor: eventfd failed: {}", std::strerror(errno))};
}

}  // namespace

descriptor_state::descriptor_state(runtime_state& owner, device_state& dev)
    : owner_{owner}, device_{dev}, event_{open_event()} {
  thread_ = std::thread{[this] { run(); }};
}

descriptor_state::~descriptor_state() {
  {
    const std::scoped_lock lock{mutex_};
    stops_ = true;
  }
  changed_.notify_one();
  owner_.parking().wake_device(device_.index());
  thread_.join();
}

bool descriptor_state::is_copy() const noexcept { return owner_.is_copy(); }

bool descriptor_state::arm() {
  base::refuse_in_callback("arm");
  owner_.refuse_copies();
  {
    const std::scoped_lock lock{mutex_};
    if (armed_) return true;  // a message that has come since makes the descriptor readable
  }
  // The sleeping thread waits for `armed_`, so only the calling thread uses the members now.
  set_unreadable();
  device_state& standard = owner_.devices().standard();
  if (parking::look(device_, standard) == stillness::busy) return false;
  seat_.emplace(owner_.parking(), waited_devices{device_, standard}, parking::awaited{}, true);
  since_ = seat_->prepare_sleep();
  if (since_.still == stillness::busy) {
    wake_up();
    return false;
  }
  {
    const std::scoped_lock lock{mutex_};
    armed_ = true;
  }
  changed_.notify_one();
  return true;
}

void descriptor_state::run() noexcept {
  std::unique_lock lock{mutex_};
  for (;;) {
    changed_.wait(lock, [this] { return armed_ || stops_; });
    while (!stops_ && !has_changed(since_)) {
      lock.unlock();
      base::sleep_while(since_.first, since_.second, since_.longest);
      lock.lock();
    }
    wake_up();
    if (stops_) return;
    // Comes before another call of `arm`, which makes the descriptor unreadable.
    set_readable();
    armed_ = false;
  }
}

bool descriptor_state::has_changed(const parking::last_look& since) noexcept {
  // [descriptor.look] relaxed: no data is read because of it; the user's thread polls itself.
  const auto changed = [](const base::awaited_word& word) {
    return word.word != nullptr && word.word->load(std::memory_order_relaxed) != word.expected;
  };
  return changed(since.first) || changed(since.second) || base::clock::now() >= since.longest;
}

void descriptor_state::wake_up() noexcept {
  if (!seat_) return;
  seat_->end_sleep();
  seat_.reset();
}

void descriptor_state::set_readable() const noexcept {
  // If this fails, the descriptor is full, and so readable.
  [[maybe_unused]] const int done = ::eventfd_write(event_.get(), 1);
}

void descriptor_state::set_unreadable() const noexcept {
  // If this fails, the descriptor is empty already.
  eventfd_t count = 0;
  [[maybe_unused]] const int done = ::eventfd_read(event_.get(), &count);
}

}  // namespace weft::core

namespace weft {

wait_descriptor::wait_descriptor(device& dev)
    : state_{std::make_unique<core::descriptor_state>(*dev.runtime().state_, *dev.state_)} {}

wait_descriptor::~wait_descriptor() {
  if (state_->is_copy()) base::leave_to_parent(state_);
}

int wait_descriptor::fd() const noexcept { return state_->fd(); }

bool wait_descriptor::arm() { return state_->arm(); }

}  // namespace weft
