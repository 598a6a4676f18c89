// SPDX-License-Identifier: BSD-3-Clause
// Replies of handlers.
#include "core/protocol/reply.hpp"

#include <fmt/format.h>

#include "core/api/checks.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"

namespace weft {
namespace {

[[noreturn]] void refuse_long(std::uint32_t peer, std::uint64_t bytes, std::uint64_t packet_bytes) {
  throw error{errc::invalid_argument,
              fmt::format("reply: {} bytes to rank {} are more than the {} of a packet: allow a copy by .copy_long = "
                          "true, or use post_am, and let the buffer live until it is complete",
                          bytes, peer, packet_bytes)};
}

}  // namespace

bool device::can_reply(std::size_t bytes) noexcept { return core::reply::can_reply(*state_, bytes); }

void device::reply_with(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, std::uint64_t tag,
                        const reply_options& options) {
  const core::source_payload payload{bytes};
  core::check_buffer_and_rank("reply", peer, state_->runtime(), payload);
  if (to.id >= remote_completion_ids_max) [[unlikely]]
    core::refuse_completion_id("reply", peer, to.id);
  const std::uint32_t packet_bytes = state_->memory().packets().packet_bytes();
  if (bytes.bytes() > packet_bytes && !options.copy_long) [[unlikely]]
    refuse_long(peer, bytes.bytes(), packet_bytes);
  if (options.local != nullptr) state_->runtime().objects().check("reply", *options.local);
  core::reply::reply(*state_,
                     {peer, to.id, options.tag.value_or(tag), options.device, payload, options.local, options.context});
}

}  // namespace weft
