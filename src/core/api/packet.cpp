// Packets that the user fills.
#include <fmt/format.h>

#include "core/api/checks.hpp"
#include "core/protocol/post_message.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/packet.hpp"
#include "weft/runtime.hpp"

namespace weft {

std::optional<packet> runtime::try_take_packet() noexcept {
  state_->refuse_copies();
  core::packet_pool& pool = state_->memory().packets();
  const std::uint32_t index = pool.try_get();
  if (index == net::packet_store::none) return std::nullopt;
  pool.count_taken();
  return packet{pool, {pool.data(index), pool.packet_bytes()}, index};
}

void packet::give_back() noexcept {
  core::packet_pool& pool = *std::exchange(pool_, nullptr);
  pool.put(index_);
  pool.uncount_taken();
}

status device::post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                       const post_packet_options& options) {
  if (filled.is_posted()) [[unlikely]] {
    throw error{errc::invalid_state, "post_am: the packet was posted already, and is the library's"};
  }
  if (filled.pool_ != &runtime_->state_->memory().packets()) [[unlikely]] {
    throw error{errc::invalid_argument, "post_am: the packet was taken from another runtime"};
  }
  if (bytes > filled.memory_.size()) [[unlikely]] {
    throw error{errc::invalid_argument,
                fmt::format("post_am to rank {}: a packet has {} bytes, not {}", peer, filled.memory_.size(), bytes)};
  }
  if (peer >= state_->rank_count()) [[unlikely]]
    core::refuse_rank("post_am", peer, state_->rank_count());
  if (to.id >= remote_completion_ids_max) [[unlikely]]
    core::refuse_completion_id("post_am", peer, to.id);
  const status answer =
      core::post_message::post_packet(*state_, peer, to.id, filled.index_, static_cast<std::uint32_t>(bytes), options);
  if (answer.is_done()) std::exchange(filled.pool_, nullptr)->uncount_taken();
  return answer;
}

}  // namespace weft
