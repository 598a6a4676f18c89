// SPDX-License-Identifier: BSD-3-Clause
// Sends, receives and probes as users call them. The common cases are in fast/.
#include "core/api/post_send_recv.hpp"

#include <fmt/format.h>

#include "base/fast_paths.hpp"
#include "base/misuse.hpp"
#include "core/api/checks.hpp"
#include "core/fast/post_packet.hpp"
#include "core/fast/post_receive.hpp"
#include "core/protocol/cancel.hpp"
#include "core/protocol/numbered_credits.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/receive.hpp"
#include "core/runtime/matching_store.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

using core::source_payload;
using core::target_payload;

core::message_request request_of(std::uint32_t peer, const source_payload& bytes, completion& local,
                                 const post_send_options& options) {
  return {.eager = core::wire::send,
          .rts = core::wire::send_rts,
          .opcode = operation::send,
          .peer = peer,
          .id = options.engine.id(),
          .tag = options.tag,
          .bytes = bytes,
          .local = &local,
          .context = options.context,
          .device = options.device,
          .policy = static_cast<std::uint32_t>(options.policy),
          .delivered = options.complete_at == completion_level::delivered,
          .allow_done = options.allow_done,
          .allow_retry = options.allow_retry};
}

template <class Options>
core::receive_request request_of(core::runtime_state& state, const char* call, std::uint32_t peer,
                                 const Options& options) {
  core::engine_state& engine = core::checked_engine(state, call, options.engine);
  core::check_policy(call, engine, options.policy);
  const bool wild = peer == any_rank || options.any_tag;
  if (wild && engine.receiver_first) core::refuse_open(call, engine.id);
  if (wild && !engine.is_ordered()) {
    throw error{errc::invalid_argument,
                fmt::format("{}: engine {} is not ordered: rank and tag are left open by a policy there, which the "
                            "sender names too",
                            call, engine.id)};
  }
  const bool by_rank = options.policy == match_policy::rank_tag || options.policy == match_policy::rank_only;
  if (peer >= state.size() && !wild && by_rank) core::refuse_rank(call, peer, state.size());
  return {.engine = &engine,
          .peer = peer,
          .tag = options.tag,
          .policy = options.policy,
          .any_tag = options.any_tag,
          .into = {},
          .local = nullptr,
          .context = nullptr,
          .allow_retry = true};
}

// Options of a receive whose message is looked for.
core::receive_request probe_request(core::runtime_state& state, const char* call, std::uint32_t peer,
                                    const probe_options& options) {
  const core::receive_request out = request_of(state, call, peer, options);
  if (out.engine->receiver_first) {
    throw error{errc::invalid_argument,
                fmt::format("{}: engine {} is receiver-first: a message stays with its sender until it is received",
                            call, out.engine->id)};
  }
  return out;
}

status post_recv_of(core::device_state& dev, core::runtime_state& state, std::uint32_t peer, const target_payload& into,
                    completion& local, const post_recv_options& options) {
  core::receive_request request = request_of(state, "post_recv", peer, options);
  core::check_buffer("post_recv", peer, state, into);
  request.into = into;
  request.local = &local;
  request.context = options.context;
  request.allow_retry = options.allow_retry;
  // An engine named by its id has been found: the fast path of one named by its object.
  if (base::has_fast_paths && request.engine->home != nullptr && options.engine.object() == nullptr &&
      options.allow_retry && !options.any_tag && into.is_ordinary()) {
    return detail::fast_recv_in(dev, {peer, options.policy}, {into.address(), into.bytes()}, local, options.tag,
                                options.context, *request.engine);
  }
  return core::receive::post_receive(dev, request);
}

// Whether the message was sent in a packet; else nothing has happened.
bool post_in_packet(core::device_state& dev, std::uint32_t peer, const source_payload& bytes,
                    core::engine_state& engine, const post_send_options& options) noexcept {
  if (!core::fast::may_go_in_packet(bytes, options) || engine.receiver_first ||
      dev.matching().unexpected().budget().must_send_rts(peer)) {
    return false;
  }
  const net::header header{.kind = core::kind_word(core::wire::send, static_cast<std::uint32_t>(options.policy)),
                           .id = engine.id,
                           .sequence = 0,
                           .tag = options.tag};
  const detail::message_target target{peer, options.device};
  const detail::ordinary_bytes ordinary{bytes.address(), static_cast<std::size_t>(bytes.bytes())};
  if (!engine.is_ordered()) {
    return core::fast::post_in_packet(dev, operation::send, target, header, ordinary,
                                      [](const net::header&) { return true; });
  }
  if (engine.numbers.credits(peer) <= 0) [[unlikely]]
    static_cast<void>(core::numbered_credits::refill(dev, engine.numbers, target));
  return core::fast::post_in_packet(dev, operation::send, target, header, ordinary, [&](net::header& numbered) {
    return engine.numbers.try_take_once(peer, numbered.sequence);
  });
}

}  // namespace

// Uncommon and wrong cases: a function of their own, so that the common case saves no registers.
[[gnu::noinline]] status core::post_send_checked(device_state& dev, std::uint32_t peer, const source_payload& bytes,
                                                 completion& local, const post_send_options& options) {
  runtime_state& state = dev.runtime();
  state.objects().check("post_send", local);
  core::check_buffer_and_rank("post_send", peer, state, bytes);
  core::engine_state& engine = core::checked_engine(state, "post_send", options.engine);
  core::check_policy("post_send", engine, options.policy);
  if (post_in_packet(dev, peer, bytes, engine, options)) return status::done();
  return core::post_message::post_send(dev, request_of(peer, bytes, local, options), engine);
}

status device::post_send_slow(std::uint32_t peer, const_buffer_ref bytes, completion& local,
                              const post_send_options& options) {
  return core::post_send_checked(*state_, peer, bytes, local, options);
}

status device::post_send(std::uint32_t peer, const_buffer_list bytes, completion& local,
                         const post_send_options& options) {
  return core::post_send_checked(*state_, peer, source_payload{bytes}, local, options);
}

status core::post_receive_checked(device_state& dev, std::uint32_t peer, const target_payload& into, completion& local,
                                  const post_recv_options& options) {
  dev.runtime().objects().check("post_recv", local);
  return post_recv_of(dev, dev.runtime(), peer, into, local, options);
}

status device::post_recv_slow(std::uint32_t peer, buffer_ref buffer, completion& local,
                              const post_recv_options& options) {
  if (options.any_tag && options.allow_retry && options.policy <= match_policy::none &&
      options.engine.object() != nullptr && buffer.memory() == nullptr && &local.runtime() == runtime_) {
    return core::fast::post_with_any_tag(*state_, {peer, options.policy}, detail::ordinary(buffer), local, options.tag,
                                         options.context, *options.engine.object());
  }
  return core::post_receive_checked(*state_, peer, buffer, local, options);
}

status device::post_recv(std::uint32_t peer, buffer_list buffer, completion& local, const post_recv_options& options) {
  return core::post_receive_checked(*state_, peer, target_payload{buffer}, local, options);
}

cancel_result device::cancel(std::uint64_t ticket) noexcept {
  switch (core::cancel::single(*state_, ticket)) {
    case core::cancel_answer::cancelled: return cancel_result::cancelled;
    case core::cancel_answer::too_late: return cancel_result::too_late;
    case core::cancel_answer::asked:
    case core::cancel_answer::busy: break;
  }
  return cancel_result::busy;
}

std::optional<matched_message> device::probe(std::uint32_t peer, const probe_options& options) {
  bool is_busy = false;
  core::unexpected_message* const found =
      core::receive::probe(*state_, probe_request(*runtime_->state_, "probe", peer, options), is_busy);
  if (options.is_busy != nullptr) *options.is_busy = is_busy;
  if (found == nullptr) return std::nullopt;
  return matched_message{state_, found};
}

std::optional<message_envelope> device::peek(std::uint32_t peer, const probe_options& options) {
  bool is_busy = false;
  auto found = core::receive::peek(*state_, probe_request(*runtime_->state_, "peek", peer, options), is_busy);
  if (options.is_busy != nullptr) *options.is_busy = is_busy;
  return found;
}

matched_message::~matched_message() {
  if (message_ != nullptr && !device_->runtime().is_copy()) core::receive::discard(*device_, *message_);
}

namespace {

const core::unexpected_message& held_by(const core::unexpected_message* message) noexcept {
  if (message == nullptr) base::misuse("a matched message is looked at after it was received or moved away");
  return *message;
}

}  // namespace

std::uint32_t matched_message::source() const noexcept { return held_by(message_).arrival.source; }
std::uint64_t matched_message::tag() const noexcept { return held_by(message_).arrival.header.tag; }
std::uint64_t matched_message::bytes() const noexcept { return held_by(message_).bytes; }

status matched_message::receive(buffer_ref buffer, completion& local, const receive_options& options) {
  return receive_into(buffer, local, options);
}

status matched_message::receive(buffer_list buffer, completion& local, const receive_options& options) {
  return receive_into(target_payload{buffer}, local, options);
}

status matched_message::receive_into(const core::payload<buffer_ref>& into, completion& local,
                                     const receive_options& options) {
  if (message_ == nullptr) {
    throw error{errc::invalid_state, "matched_message::receive: it was received before, or moved away"};
  }
  device_->runtime().objects().check("matched_message::receive", local);
  core::check_buffer("matched_message::receive", source(), device_->runtime(), into);
  // Once the message is received, this object may be destroyed: so it is made empty before.
  core::unexpected_message* const found = std::exchange(message_, nullptr);
  const status result = core::receive::receive_message(*device_, *found,
                                                       {.engine = found->engine,
                                                        .peer = found->arrival.source,
                                                        .tag = found->arrival.header.tag,
                                                        .policy = match_policy::rank_tag,
                                                        .any_tag = false,
                                                        .into = into,
                                                        .local = &local,
                                                        .context = options.context,
                                                        .allow_retry = true});
  if (result.is_retry()) message_ = found;
  return result;
}

}  // namespace weft
