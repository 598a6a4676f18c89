#include "core/runtime/devices.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/assertion.hpp"
#include "base/log.hpp"
#include "core/protocol/end_backlog.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

void end_backlog_of(device_state& standard) noexcept {
  const unsigned unsent = end_backlog(standard);
  if (unsent == 0) return;
  base::log_warn(
      "the runtime ends, and there is no room for answers that peers wait for ({} of them): call barrier() before the "
      "end",
      unsent);
}

}  // namespace

void devices::set_room(std::uint32_t count) {
  all_.resize(count);
  adopted_.resize(count);
}

bool devices::is_empty() const noexcept {
  return std::ranges::all_of(all_, [](const auto& each) { return each == nullptr; });
}

// While a handler of device 0 runs, a poll iterates over the rings of device 0, so their list must not change.
void devices::open(runtime_state& owner, device& interface, const device_options& options, device_state*& handle) {
  owner.refuse_copies();
  if (is_inside_standard()) {
    throw error{errc::invalid_state,
                "a device is made inside a handler or hook of the default device: make it outside"};
  }
  const progress_policy policy = options.policy.value_or(owner.attributes().progress_policy);
  for (bool is_adopted = false;;) {
    // Before the lock: a handler of device 0 may be waiting for the lock.
    poll_gate::scoped_entry entry;
    if (is_adopted) entry.take(standard().gate());
    const bool may_release = is_adopted;
    const std::scoped_lock lock{mutex_};
    const auto room = std::ranges::find_if(all_, [](const auto& each) { return each == nullptr; });
    if (room == all_.end()) break;
    const auto index = static_cast<std::uint32_t>(room - all_.begin());
    is_adopted = adopted_[index];
    if (is_adopted && !may_release) continue;
    auto made = std::make_unique<device_state>(owner, interface, index, options.shared, policy);
    // Nothing throws from here on: until then no peer sends to it, and device 0 keeps what it has adopted.
    if (is_adopted) standard().endpoints().release(index);
    entry.reset();
    adopted_[index] = false;
    for (const auto& transport : owner.transports()) transport->go_live(index);
    *room = std::move(made);
    // First: from then on a thread of another device may poll it, and run handlers that use `interface`.
    handle = room->get();
    if (options.shared) shared_.add(index, **room);
    return;
  }
  throw error{errc::invalid_state,
              fmt::format("rank {} has {} devices already, as many as WEFT_DEVICES_MAX and the number of ranks allow",
                          owner.rank(), all_.size())};
}

void devices::hide(device_state& shared) noexcept {
  const std::scoped_lock lock{mutex_};
  shared_.remove(shared.index());
  // A thread that found it before is still choosing, or inside the gate, or has left: after the fence we see which.
  fence_all_threads();
  for (const auto& each : all_) {
    if (each) each->others().wait_until_chosen();
  }
}

void devices::close(device_state& gone, poll_gate::scoped_entry& entry,
                    const std::vector<std::unique_ptr<net::transport>>& transports) noexcept {
  const std::uint32_t index = gone.index();
  const std::scoped_lock lock{mutex_};
  WEFT_ASSERT_CHECKED(all_[index].get() == &gone);
  if (index == 0) end_backlog_of(gone);  // while it can send
  for (const auto& transport : transports) transport->close(index);
  if (index != 0) standard().adopt(gone);
  entry.reset();
  adopted_[index] = index != 0;
  all_[index].reset();
}

}  // namespace weft::core
