// SPDX-License-Identifier: BSD-3-Clause
// Posting a short active message or send with default options, or in an engine that is named by its object. 8 bytes on
// a device of one thread's own have the shortest path.
//
// Cost of that path: a line of the device, the route to the peer, the ring's line, the cell, the peer's sleep word,
// the line of the counters. No locked operation, no saved register, no access to the stack: all arguments come in
// registers, so that a tail call with all of them handles rare cases and errors, as if nothing had been tried. The
// general twin: `post_inline::post` (core/protocol/post_inline.hpp).
#include "core/protocol/post_inline.hpp"
#include "base/fast_paths.hpp"
#include "core/api/checks.hpp"
#include "core/api/post_send_recv.hpp"
#include "core/device/device_state.hpp"
#include "core/fast/post_packet.hpp"
#include "core/protocol/active_message.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/post_message.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

const_buffer_ref buffer_of(detail::ordinary_bytes bytes) noexcept { return {bytes.address, bytes.bytes}; }

// Finds what is wrong with a post; throws if anything is.
void check_post(core::device_state& dev, std::uint32_t peer, remote_completion to, const core::source_payload& bytes) {
  if (peer >= dev.rank_count()) core::refuse_rank("post_am", peer, dev.rank_count());
  if (to.id >= remote_completion_ids_max) core::refuse_completion_id("post_am", peer, to.id);
  core::check_buffer("post_am", peer, dev.runtime(), bytes);
}

// Whether it is a buffer, and no kind of memory has to be asked whether it is one of its own.
[[nodiscard]] bool is_good(core::device_state& dev, detail::ordinary_bytes bytes) noexcept {
  return bytes.bytes <= core::buffer_bytes_max && (bytes.address != nullptr || bytes.bytes == 0) &&
         !dev.marks().looks_at_addresses();
}

[[gnu::noinline, gnu::cold]] status done_and_woken(net::sleep_word& receiver) noexcept {
  net::wake_sleepers(receiver);
  return status::done();
}

[[gnu::always_inline]] inline status done_by(const net::outgoing& ring) noexcept {
  return ring.receiver->is_left_asleep() ? done_and_woken(*ring.receiver) : status::done();
}

// The ring that the message was sent through. Null: this is not the simple case, or an error, and nothing has happened.
// `begin(header)` sets the header once the ring has room; false: don't send.
template <operation Opcode, std::uint32_t Bytes = net::word_bytes, class Begin>
[[gnu::always_inline]] inline net::outgoing* post_word(core::device_state& dev, detail::message_target to,
                                                       detail::ordinary_bytes bytes, const Begin& begin) noexcept {
  if constexpr (!base::has_fast_paths) return nullptr;
  if (bytes.bytes != Bytes || (Bytes != 0 && bytes.address == nullptr) || !dev.marks().is_simple_rank(to.peer()))
      [[unlikely]] {
    return nullptr;
  }
  net::outgoing* const ring = dev.routes().known_ring(to);
  net::header header;
  if (ring == nullptr || !ring->sender.has_credit() || !begin(header)) [[unlikely]]
    return nullptr;
  base::goes_out();
  ring->sender.push(header, bytes.address, Bytes, false);
  dev.counts().posted_alone(Opcode, Bytes);
  return ring;
}

net::header send_under(match_policy policy, std::uint64_t tag,
                       std::uint32_t engine = default_matching_engine) noexcept {
  return {.kind = core::kind_word(core::wire::send, static_cast<std::uint32_t>(policy)),
          .id = engine,
          .sequence = 0,
          .tag = tag};
}

[[gnu::noinline]] status post_am_slow(core::device_state& dev, detail::message_target to, remote_completion remote,
                                      detail::ordinary_bytes bytes, std::uint64_t tag) {
  if (to.peer() >= dev.rank_count() || remote.id >= remote_completion_ids_max || !is_good(dev, bytes)) [[unlikely]]
    check_post(dev, to.peer(), remote, buffer_of(bytes));
  return core::post_inline::post(dev, operation::active_message, to, core::active_message_to(remote.id, tag), bytes);
}

[[gnu::noinline]] status post_send_slow(core::device_state& dev, detail::message_target to, match_policy policy,
                                        detail::ordinary_bytes bytes, std::uint64_t tag) {
  if (to.peer() >= dev.rank_count()) [[unlikely]]
    core::refuse_rank("post_send", to.peer(), dev.rank_count());
  if (!is_good(dev, bytes)) [[unlikely]]
    core::check_buffer("post_send", to.peer(), dev.runtime(), core::source_payload{buffer_of(bytes)});
  return core::post_inline::post(dev, operation::send, to, send_under(policy, tag), bytes);
}

// A send in an engine named by its object that is no simple case, or is wrong.
[[gnu::noinline]] status post_send_in_slow(core::device_state& dev, detail::message_target to,
                                           core::engine_state& engine, detail::ordinary_bytes bytes,
                                           const detail::rest_of_send& rest) {
  return core::post_send_checked(
      dev, to.peer(), buffer_of(bytes), *rest.local,
      {.tag = rest.tag, .engine = {engine.id, engine}, .device = to.device(), .context = rest.context});
}

// Another short send in an engine of the common kind.
[[gnu::noinline]] status post_send_in_simple(core::device_state& dev, detail::message_target to,
                                             core::engine_state& engine, detail::ordinary_bytes bytes,
                                             std::uint64_t tag) {
  // One of no bytes, as barriers send.
  const net::outgoing* const ring = post_word<operation::send, 0>(dev, to, bytes, [&](net::header& header) {
    header = send_under(match_policy::rank_tag, tag, engine.id);
    return true;
  });
  if (ring != nullptr) return done_by(*ring);
  if (to.peer() >= dev.rank_count()) [[unlikely]]
    core::refuse_rank("post_send", to.peer(), dev.rank_count());
  if (!is_good(dev, bytes)) [[unlikely]]
    core::check_buffer("post_send", to.peer(), dev.runtime(), core::source_payload{buffer_of(bytes)});
  return core::post_inline::post(dev, operation::send, to, send_under(match_policy::rank_tag, tag, engine.id), bytes);
}

// A short send in an ordered engine that is not one word on a device of one thread's own.
[[gnu::noinline]] status post_send_in_order_simple(core::device_state& dev, detail::message_target to,
                                                   core::engine_state& engine, detail::ordinary_bytes bytes,
                                                   const detail::rest_of_send& rest) {
  const bool is_simple = base::has_fast_paths && dev.marks().is_unasked_rank(to.peer()) && bytes.address != nullptr;
  net::outgoing* const ring = is_simple ? dev.routes().known_ring(to) : nullptr;
  if (ring == nullptr) [[unlikely]]
    return post_send_in_slow(dev, to, engine, bytes, rest);
  net::header header = send_under(match_policy::rank_tag, rest.tag, engine.id);
  if (engine.numbers.credits(to.peer()) <= 0) [[unlikely]]
    static_cast<void>(core::numbered_credits::refill(dev, engine.numbers, to));
  const auto begin = [&] { return engine.numbers.try_take_once(to.peer(), header.sequence); };
  const auto count = static_cast<std::uint32_t>(bytes.bytes);
  if (ring->push(dev.marks().is_shared(), header, bytes.address, count, false, begin) != net::post_result::ok)
      [[unlikely]] {
    return post_send_in_slow(dev, to, engine, bytes, rest);
  }
  dev.counts().posted(operation::send, count);
  return status::done();
}

// An ordered engine costs one compare-and-exchange more, for the number, which is taken once the ring has room.
[[gnu::noinline]] status post_send_in_order(core::device_state& dev, detail::message_target to,
                                            core::engine_state& engine, detail::ordinary_bytes bytes,
                                            const detail::rest_of_send& rest) {
  if (engine.home != &dev.runtime() || engine.kind != core::engine_kind::ordered) [[unlikely]]
    return post_send_in_slow(dev, to, engine, bytes, rest);
  const auto begin = [&](net::header& header) {
    std::uint32_t number = 0;
    if (!engine.numbers.try_take_once(to.peer(), number)) return false;
    header = send_under(match_policy::rank_tag, rest.tag, engine.id);
    header.sequence = number;
    return true;
  };
  const net::outgoing* const ring = post_word<operation::send>(dev, to, bytes, begin);
  if (ring != nullptr) [[likely]]
    return done_by(*ring);
  return post_send_in_order_simple(dev, to, engine, bytes, rest);
}

}  // namespace

status detail::fast_post_am(core::device_state& dev, message_target to, remote_completion remote,
                            detail::ordinary_bytes bytes, std::uint64_t tag) {
  if (remote.id < remote_completion_ids_max) [[likely]] {
    const net::outgoing* const ring = post_word<operation::active_message>(dev, to, bytes, [&](net::header& header) {
      header = core::active_message_to(remote.id, tag);
      return true;
    });
    if (ring != nullptr) [[likely]]
      return done_by(*ring);
  }
  return post_am_slow(dev, to, remote, bytes, tag);
}

status device::post_am_slow(std::uint32_t peer, remote_completion to, const_buffer_ref bytes, completion& local,
                            const post_am_options& options) {
  const core::source_payload payload{bytes};
  check_post(*state_, peer, to, payload);
  if (core::fast::may_go_in_packet(payload, options) && &local.runtime() == runtime_ &&
      core::fast::post_in_packet(*state_, operation::active_message, {peer, options.device},
                                 core::active_message_to(to.id, options.tag), {payload.address(), bytes.bytes()},
                                 [](const net::header&) { return true; })) {
    return status::done();
  }
  return core::active_message::post_active_message(*state_, peer, to.id, payload, local, options);
}

status device::post_am(std::uint32_t peer, remote_completion to, const_buffer_list bytes, completion& local,
                       const post_am_options& options) {
  const core::source_payload payload{bytes};
  check_post(*state_, peer, to, payload);
  return core::active_message::post_active_message(*state_, peer, to.id, payload, local, options);
}

status detail::fast_post_send(core::device_state& dev, message_target to, match_policy policy,
                              detail::ordinary_bytes bytes, std::uint64_t tag) {
  const net::outgoing* const ring = post_word<operation::send>(dev, to, bytes, [&](net::header& header) {
    header = send_under(policy, tag);
    return true;
  });
  if (ring != nullptr) [[likely]]
    return done_by(*ring);
  return post_send_slow(dev, to, policy, bytes, tag);
}

status detail::fast_send_in(core::device_state& dev, message_target to, core::engine_state& engine,
                            detail::ordinary_bytes bytes, const rest_of_send& rest) {
  if (engine.home_of_simple != &dev.runtime()) return post_send_in_order(dev, to, engine, bytes, rest);
  const net::outgoing* const ring = post_word<operation::send>(dev, to, bytes, [&](net::header& header) {
    header = send_under(match_policy::rank_tag, rest.tag, engine.id);
    return true;
  });
  if (ring != nullptr) [[likely]]
    return done_by(*ring);
  return post_send_in_simple(dev, to, engine, bytes, rest.tag);
}

}  // namespace weft
