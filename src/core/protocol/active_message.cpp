#include "core/protocol/active_message.hpp"

#include "core/message/message_body.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"

namespace weft::core::active_message {

bool on_active_message(device_state& dev, const net::arrival& message) noexcept {
  const found_entry to = arrive::find_entry(dev, message);
  if (to.state != lookup::found) {
    if (to.state == lookup::no_room) return false;
    if (to.state == lookup::withdrawn) arrive::count_dropped(dev);
    give_back(message);
    return true;
  }
  return complete::try_signal(dev, *to.entry->target, complete::record_of(message));
}

}  // namespace weft::core::active_message
