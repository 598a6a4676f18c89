// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/active_message.hpp"

#include "core/message/message_body.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/post_message.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::active_message {

status post_active_message(device_state& dev, std::uint32_t peer, std::uint32_t id, const source_payload& bytes,
                           completion& local, const post_am_options& options) {
  dev.runtime().objects().check("post_am", local);
  return post_message::post_message(dev, {.eager = wire::active_message,
                                          .rts = wire::rts,
                                          .opcode = operation::active_message,
                                          .peer = peer,
                                          .id = id,
                                          .tag = options.tag,
                                          .bytes = bytes,
                                          .local = &local,
                                          .context = options.context,
                                          .device = options.device,
                                          .policy = 0,
                                          .delivered = options.complete_at == completion_level::delivered,
                                          .allow_done = options.allow_done,
                                          .allow_retry = options.allow_retry});
}

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
