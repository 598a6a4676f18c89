// SPDX-License-Identifier: BSD-3-Clause
// `device`: its making and end, progress, hooks. Its posts are in post_*.cpp, its waits in wait.cpp.
#include "weft/device.hpp"
#include "core/runtime/ends_of_objects.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/runtime.hpp"

namespace weft {
device::device(weft::runtime& owner, const device_options& options) : runtime_{&owner} {
  owner.state_->devices().open(*owner.state_, *this, options, state_);
  if (options.shared) owner.state_->parking().wake_everybody();  // sleeping threads may have to look at it as well
}

device::~device() {
  if (state_ != nullptr && !runtime_->state_->is_copy()) core::end_of_device{*runtime_->state_, state_}.wait_for_gate();
}

std::uint32_t device::index() const noexcept { return state_->index(); }
bool device::is_shared() const noexcept { return state_->marks().is_shared(); }
void detail::set_shared(device& dev, bool shared) { dev.state_->runtime().devices().set_shared(*dev.state_, shared); }
device_counters device::counters() const noexcept { return state_->counts().read(); }
progress_policy device::policy() const noexcept { return state_->others().policy(); }

bool device::progress() noexcept { return state_->progress(); }

hook device::add_hook_node(std::unique_ptr<detail::hook_node> made) {
  runtime_->state_->refuse_copies();
  auto control = made->control;
  state_->hooks().add(std::move(made));
  runtime_->state_->parking().wake_everybody();  // sleeping threads have something to do
  return hook{std::move(control)};
}

}  // namespace weft
