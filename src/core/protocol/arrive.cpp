// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/arrive.hpp"

#include "core/runtime/runtime_state.hpp"

namespace weft::core::arrive {

bool reject(device_state& dev, const net::arrival& message) noexcept {
  dev.runtime().counts().add_refused();
  give_back(message);
  return true;
}

void count_dropped(device_state& dev) noexcept { dev.runtime().counts().add_dropped(); }

bool drop(device_state& dev, const net::arrival& message) noexcept {
  count_dropped(dev);
  give_back(message);
  return true;
}

found_entry find_entry(device_state& dev, const net::arrival& message) noexcept {
  for (;;) {
    const base::id_entry found = dev.runtime().registrations().ids().look_up(message.header.id);
    if (found.state == base::presence::present) return {lookup::found, static_cast<remote_entry*>(found.object)};
    if (found.state == base::presence::withdrawn) return {lookup::withdrawn, nullptr};
    switch (dev.matching().kept().keep(message, dev.runtime().registrations().ids())) {
      case kept_messages::answer::kept: return {lookup::kept, nullptr};
      case kept_messages::answer::no_room: return {lookup::no_room, nullptr};
      case kept_messages::answer::registered_now: break;  // registered just now: look again
    }
  }
}

errc error_of(std::uint64_t word) noexcept {
  return word > static_cast<std::uint64_t>(errc::memory_failed) ? errc::none : static_cast<errc>(word);
}

static_assert(net::slots_max <= askers_max, "each device of a rank can ask");

operation_state* get_operation(device_state& dev, const net::arrival& message) noexcept {
  operation_state* const out = dev.operations().arrivals().try_get();
  if (out == nullptr) return nullptr;
  out->peer = message.source;
  out->device = asker_of(message.header.kind);
  out->tag = message.header.tag;
  out->bytes = 0;
  return out;
}

// So the message does not delay later ones from the same peer, one of which may free an operation.
bool put_aside(device_state& dev, const net::arrival& message) noexcept {
  if (dev.is_redelivering() || !dev.matching().kept().put_aside(message)) return false;
  dev.runtime().parking().wake_device(dev.index());  // a thread that sleeps at this device has to deliver it
  give_back(message);
  return true;
}

}  // namespace weft::core::arrive
