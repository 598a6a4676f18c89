// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/post_inline.hpp"

#include "core/protocol/lost_message.hpp"

namespace weft::core::post_inline {

status refused(device_state& dev, operation opcode, std::uint32_t peer, net::post_result result) {
  return unless_cut_off(dev, opcode, peer, dev.counts().retried(status::retry(shortage_of(result))));
}

status post_slow(device_state& dev, std::uint32_t peer, std::uint32_t device, std::uint32_t kind, std::uint32_t id,
                 std::uint64_t tag, detail::ordinary_bytes bytes) {
  const net::header header{.kind = kind, .id = id, .sequence = 0, .tag = tag};
  const operation opcode = kind_of(kind) == wire::send ? operation::send : operation::active_message;
  const auto count = static_cast<std::uint32_t>(bytes.bytes);
  if (dev.routes().holds_posts_back(peer)) [[unlikely]]
    return refused(dev, opcode, peer, net::post_result::full);
  return unless_cut_off(
      dev, opcode, peer,
      answer(dev, opcode, count,
             dev.routes().endpoint_to(peer).try_send_inline(peer, device, header, bytes.address, count)));
}

}  // namespace weft::core::post_inline
