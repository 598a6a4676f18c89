// SPDX-License-Identifier: BSD-3-Clause
// Packets that the user fills.
#include <fmt/format.h>

#include "core/api/checks.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/post_packet.hpp"
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

void packet::check(const char* call, const core::packet_pool& pool, std::uint32_t peer, std::size_t bytes) const {
  if (is_posted()) [[unlikely]] {
    throw error{errc::invalid_state, fmt::format("{}: the packet was posted already, and is the library's", call)};
  }
  if (pool_ != &pool) [[unlikely]] {
    throw error{errc::invalid_argument, fmt::format("{}: the packet was taken from another runtime", call)};
  }
  if (bytes > memory_.size()) [[unlikely]] {
    throw error{errc::invalid_argument,
                fmt::format("{} to rank {}: a packet has {} bytes, not {}", call, peer, memory_.size(), bytes)};
  }
}

void packet::end_post(const status& answer) noexcept {
  if (answer.is_done()) std::exchange(pool_, nullptr)->uncount_taken();
}

status device::post_am(std::uint32_t peer, remote_completion to, packet& filled, std::size_t bytes,
                       const post_packet_options& options) {
  filled.check("post_am", state_->memory().packets(), peer, bytes);
  if (peer >= state_->rank_count()) [[unlikely]]
    core::refuse_rank("post_am", peer, state_->rank_count());
  if (to.id >= remote_completion_ids_max) [[unlikely]]
    core::refuse_completion_id("post_am", peer, to.id);
  const status answer =
      core::post_message::post_packet(*state_, peer, to.id, filled.index_, static_cast<std::uint32_t>(bytes), options);
  filled.end_post(answer);
  return answer;
}

status device::post_send(std::uint32_t peer, packet& filled, std::size_t bytes,
                         const post_packet_send_options& options) {
  filled.check("post_send", state_->memory().packets(), peer, bytes);
  if (peer >= state_->rank_count()) [[unlikely]]
    core::refuse_rank("post_send", peer, state_->rank_count());
  core::engine_state& engine = core::checked_engine(state_->runtime(), "post_send", options.engine);
  core::check_policy("post_send", engine, options.policy);
  const status answer =
      core::post_packet::send(*state_, peer, {filled.index_, static_cast<std::uint32_t>(bytes)}, engine, options);
  filled.end_post(answer);
  return answer;
}

status device::post_put(std::uint32_t peer, packet& filled, std::size_t bytes, const remote_buffer& to,
                        const post_packet_put_options& options) {
  filled.check("post_put", state_->memory().packets(), peer, bytes);
  if (peer >= state_->rank_count()) [[unlikely]]
    core::refuse_rank("post_put", peer, state_->rank_count());
  core::check_region(state_->runtime(), "post_put", peer, to, bytes);
  const std::uint32_t signal = core::checked_signal("post_put", peer, options.signal);
  const status answer =
      core::post_packet::put(*state_, peer, {filled.index_, static_cast<std::uint32_t>(bytes)}, to, signal, options);
  filled.end_post(answer);
  return answer;
}

}  // namespace weft
