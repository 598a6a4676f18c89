// Sends, receives, puts, gets and atomics as users call them: wrong calls are found here.
#include <fmt/format.h>

#include <cstring>

#include "base/misuse.hpp"
#include "core/api/post_checked.hpp"
#include "core/api/refusals.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/receive.hpp"
#include "core/protocol/remote_atomic.hpp"
#include "core/runtime/endings.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft {
namespace {

using core::refuse_buffer;
using core::refuse_rank;
using core::source_payload;
using core::target_payload;

template <class Payload>
void check(const char* call, std::uint32_t peer, std::uint32_t size, const Payload& bytes) {
  if (peer >= size) [[unlikely]]
    refuse_rank(call, peer, size);
  if (bytes.is_bad()) [[unlikely]]
    refuse_buffer(call, peer, bytes.bytes());
}

core::engine_state& engine_of(core::runtime_state& state, const char* call, std::uint32_t id) {
  const detail::id_entry found = state.engines().find_outside(id);
  if (found.state != detail::presence::present) [[unlikely]] {
    throw error{
        errc::invalid_argument,
        fmt::format("{}: rank {} has no matching engine {}: all ranks that use one make it", call, state.rank(), id)};
  }
  return *static_cast<core::engine_state*>(found.object);
}

[[noreturn]] void refuse_open(const char* call, std::uint32_t engine) {
  throw error{errc::invalid_argument,
              fmt::format("{}: engine {} is receiver-first: a receive is announced to the rank that it names, so rank "
                          "and tag are never left open there, neither by .policy nor by any_rank or .any_tag",
                          call, engine)};
}

void check_policy(const char* call, const core::engine_state& engine, match_policy policy) {
  if (policy > match_policy::none) [[unlikely]] {
    throw error{errc::invalid_argument,
                fmt::format("{}: there is no match policy {}", call, static_cast<unsigned>(policy))};
  }
  if (engine.is_ordered() && policy != match_policy::rank_tag) [[unlikely]] {
    if (engine.receiver_first) refuse_open(call, engine.id);
    throw error{errc::invalid_argument,
                fmt::format("{}: engine {} is ordered: receives leave rank or tag open there by any_rank and .any_tag, "
                            "not by .policy, and sends say nothing of it",
                            call, engine.id)};
  }
}

void check_region(const core::runtime_state& state, const char* call, std::uint32_t peer, const remote_buffer& at,
                  std::uint64_t bytes) {
  const remote_region& region = at.region;
  if (region.job == state.job() && region.rank == peer && region.name != 0 && at.offset <= region.bytes &&
      bytes <= region.bytes - at.offset) [[likely]] {
    return;
  }
  if (region.name == 0 || region.job != state.job()) {
    throw error{errc::region_refused, fmt::format("{}: the handle is not of a region of this job{}", call,
                                                  region.name == 0 ? " (it is empty)" : "")};
  }
  if (region.rank != peer) {
    throw error{errc::region_refused,
                fmt::format("{}: the region belongs to rank {}, not to rank {}", call, region.rank, peer)};
  }
  throw error{errc::region_refused, fmt::format("{}: {} bytes at offset {} reach beyond the {} bytes of the region of "
                                                "rank {}",
                                                call, bytes, at.offset, region.bytes, peer)};
}

std::uint32_t signal_of(const char* call, const std::optional<remote_completion>& signal) {
  if (!signal) return core::no_signal;
  if (signal->id >= remote_completion_ids_max) {
    throw error{errc::invalid_argument,
                fmt::format("{}: completion id {} is reserved for the library", call, signal->id)};
  }
  return signal->id;
}

core::message_request request_of(std::uint32_t peer, const source_payload& bytes, completion& local,
                                 const post_send_options& options) {
  return {.eager = core::wire::send,
          .rts = core::wire::send_rts,
          .opcode = operation::send,
          .peer = peer,
          .id = options.engine,
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
  core::engine_state& engine = engine_of(state, call, options.engine);
  check_policy(call, engine, options.policy);
  const bool wild = peer == any_rank || options.any_tag;
  if (wild && engine.receiver_first) refuse_open(call, engine.id);
  if (wild && !engine.is_ordered()) {
    throw error{errc::invalid_argument,
                fmt::format("{}: engine {} is not ordered: rank and tag are left open by a policy there, which the "
                            "sender names too",
                            call, options.engine)};
  }
  const bool by_rank = options.policy == match_policy::rank_tag || options.policy == match_policy::rank_only;
  if (peer >= state.size() && !wild && by_rank) refuse_rank(call, peer, state.size());
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

status post_recv_of(core::device_state& through, core::runtime_state& state, std::uint32_t peer,
                    const target_payload& into, completion& local, const post_recv_options& options) {
  core::receive_request request = request_of(state, "post_recv", peer, options);
  if (into.is_bad()) refuse_buffer("post_recv", peer, into.bytes());
  request.into = into;
  request.local = &local;
  request.context = options.context;
  request.allow_retry = options.allow_retry;
  return core::send_recv::post_receive(through, request);
}

status post_put_of(core::device_state& through, core::runtime_state& state, std::uint32_t peer,
                   const source_payload& bytes, const remote_buffer& to, completion& local,
                   const post_put_options& options) {
  check("post_put", peer, state.size(), bytes);
  check_region(state, "post_put", peer, to, bytes.bytes());
  return core::one_sided::post_transfer(through, {.opcode = operation::put,
                                                  .peer = peer,
                                                  .at = to,
                                                  .bytes = bytes.bytes(),
                                                  .local = &local,
                                                  .context = options.context,
                                                  .device = options.device,
                                                  .signal = signal_of("post_put", options.signal),
                                                  .tag = options.tag,
                                                  .delivered = options.complete_at == completion_level::delivered,
                                                  .allow_done = options.allow_done,
                                                  .allow_retry = options.allow_retry,
                                                  .source = bytes});
}

template <class Out, class In>
Out options_from(const In& in) {
  Out out;
  out.tag = in.tag;
  out.context = in.context;
  out.allow_retry = in.allow_retry;
  return out;
}

}  // namespace

namespace {

// Uncommon and wrong cases: a function of their own, so that the common case saves no registers.
[[gnu::noinline]] status post_send_of(core::device_state& through, core::runtime_state& state, std::uint32_t peer,
                                      const source_payload& bytes, completion& local,
                                      const post_send_options& options) {
  state.check_object("post_send", local);
  check("post_send", peer, state.size(), bytes);
  core::engine_state& engine = engine_of(state, "post_send", options.engine);
  check_policy("post_send", engine, options.policy);
  return core::posting::post_send(through, request_of(peer, bytes, local, options), engine);
}

}  // namespace

status device::post_any_send(std::uint32_t peer, const_buffer_ref bytes, completion& local,
                             const post_send_options& options) {
  return post_send_of(*state_, *runtime_->state_, peer, bytes, local, options);
}

status device::post_send(std::uint32_t peer, const_buffer_list bytes, completion& local,
                         const post_send_options& options) {
  return post_send_of(*state_, *runtime_->state_, peer, source_payload{bytes}, local, options);
}

status core::post_receive_checked(device_state& dev, std::uint32_t peer, const target_payload& into, completion& local,
                                  const post_recv_options& options) {
  dev.runtime().check_object("post_recv", local);
  return post_recv_of(dev, dev.runtime(), peer, into, local, options);
}

status device::post_any_recv(std::uint32_t peer, buffer_ref buffer, completion& local,
                             const post_recv_options& options) {
  return core::post_receive_checked(*state_, peer, buffer, local, options);
}

status device::post_recv(std::uint32_t peer, buffer_list buffer, completion& local, const post_recv_options& options) {
  return core::post_receive_checked(*state_, peer, target_payload{buffer}, local, options);
}

cancel_result device::cancel(std::uint64_t ticket) noexcept { return core::send_recv::cancel(*state_, ticket); }

std::optional<matched_message> device::probe(std::uint32_t peer, const probe_options& options) {
  const core::receive_request request = request_of(*runtime_->state_, "probe", peer, options);
  if (request.engine->receiver_first) {
    throw error{errc::invalid_argument,
                fmt::format("probe: engine {} is receiver-first: a message stays with its sender until it is received",
                            options.engine)};
  }
  core::unexpected_message* const found = core::send_recv::probe(*state_, request);
  if (found == nullptr) return std::nullopt;
  return matched_message{state_, found};
}

matched_message::~matched_message() {
  if (message_ != nullptr) core::send_recv::discard(*device_, *message_);
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
  if (message_ == nullptr) {
    throw error{errc::invalid_state, "matched_message::receive: it was received before, or moved away"};
  }
  device_->runtime().check_object("matched_message::receive", local);
  const target_payload into{buffer};
  if (into.is_bad()) refuse_buffer("matched_message::receive", source(), into.bytes());
  // Once it is received, this object may be gone: it is empty before.
  core::unexpected_message* const found = std::exchange(message_, nullptr);
  const status result = core::send_recv::receive_message(*device_, *found,
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

status device::post_any_put(std::uint32_t peer, const_buffer_ref bytes, const remote_buffer& to, completion& local,
                            const post_put_options& options) {
  runtime_->state_->check_object("post_put", local);
  return post_put_of(*state_, *runtime_->state_, peer, bytes, to, local, options);
}

status device::post_put(std::uint32_t peer, const_buffer_list bytes, const remote_buffer& to, completion& local,
                        const post_put_options& options) {
  runtime_->state_->check_object("post_put", local);
  return post_put_of(*state_, *runtime_->state_, peer, source_payload{bytes}, to, local, options);
}

status device::post_any_get(std::uint32_t peer, buffer_ref buffer, const remote_buffer& from, completion& local,
                            const post_get_options& options) {
  runtime_->state_->check_object("post_get", local);
  const target_payload into{buffer};
  check("post_get", peer, state_->rank_count(), into);
  check_region(*runtime_->state_, "post_get", peer, from, into.bytes());
  return core::one_sided::post_transfer(*state_, {.opcode = operation::get,
                                                  .peer = peer,
                                                  .at = from,
                                                  .bytes = into.bytes(),
                                                  .local = &local,
                                                  .context = options.context,
                                                  .device = options.device,
                                                  .signal = signal_of("post_get", options.signal),
                                                  .tag = options.tag,
                                                  .delivered = true,
                                                  .allow_done = options.allow_done,
                                                  .allow_retry = options.allow_retry,
                                                  .into = into});
}

status device::post_atomic_word(std::uint32_t peer, const detail::atomic_request& request, const remote_buffer& at,
                                completion& local, const detail::post_atomic_word_options& options) {
  runtime_->state_->check_object("post_atomic", local);
  if (peer >= state_->rank_count()) refuse_rank("post_atomic", peer, state_->rank_count());
  if (!core::is_atomic_code(core::atomic_code(request.op, request.bytes))) [[unlikely]] {
    throw error{errc::invalid_argument, fmt::format("post_atomic to rank {}: there is no atomic operation {}", peer,
                                                    static_cast<unsigned>(request.op))};
  }
  check_region(*runtime_->state_, "post_atomic", peer, at, request.bytes);
  if (at.offset % request.bytes != 0) {
    throw error{errc::invalid_argument,
                fmt::format("post_atomic to rank {}: offset {} is not a multiple of the word's {} bytes", peer,
                            at.offset, request.bytes)};
  }
  const target_payload result =
      request.result != nullptr ? target_payload{buffer_ref{request.result, request.bytes}} : target_payload{};
  return core::one_sided::post_transfer(*state_, {.opcode = operation::atomic,
                                                  .peer = peer,
                                                  .at = at,
                                                  .bytes = request.bytes,
                                                  .local = &local,
                                                  .context = options.context,
                                                  .device = options.device,
                                                  .signal = core::no_signal,
                                                  .tag = 0,
                                                  .delivered = options.complete_at == completion_level::delivered,
                                                  .allow_done = options.allow_done,
                                                  .allow_retry = options.allow_retry,
                                                  .into = result,
                                                  .word = core::atomic_code(request.op, request.bytes),
                                                  .operand = request.operand,
                                                  .compare = request.compare});
}

status device::post_comm(direction data_direction, std::uint32_t peer, const_buffer_ref bytes, completion& local,
                         const post_comm_options& options) {
  if (data_direction == direction::in) {
    throw error{errc::invalid_argument, "post_comm: what comes in needs memory that can be written"};
  }
  if (options.remote) {
    auto out = options_from<post_put_options>(options);
    out.signal = options.notify;
    out.complete_at = options.complete_at;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_put(peer, bytes, *options.remote, local, out);
  }
  if (options.notify) {
    auto out = options_from<post_am_options>(options);
    out.complete_at = options.complete_at;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_am(peer, *options.notify, bytes, local, out);
  }
  if (options.any_tag) {
    throw error{errc::invalid_argument, "post_comm: a send has a tag; .any_tag is of a receive in an ordered engine"};
  }
  auto out = options_from<post_send_options>(options);
  out.engine = options.engine;
  out.policy = options.policy;
  out.complete_at = options.complete_at;
  out.device = options.device;
  out.allow_done = options.allow_done;
  return post_send(peer, bytes, local, out);
}

status device::post_comm(direction data_direction, std::uint32_t peer, buffer_ref buffer, completion& local,
                         const post_comm_options& options) {
  if (data_direction == direction::out)
    return post_comm(data_direction, peer, const_buffer_ref{buffer}, local, options);
  if (options.remote) {
    auto out = options_from<post_get_options>(options);
    out.signal = options.notify;
    out.device = options.device;
    out.allow_done = options.allow_done;
    return post_get(peer, buffer, *options.remote, local, out);
  }
  if (options.notify) {
    throw error{errc::invalid_argument,
                "post_comm: a receive with a remote completion means nothing; name a remote buffer to get from"};
  }
  auto out = options_from<post_recv_options>(options);
  out.engine = options.engine;
  out.policy = options.policy;
  out.any_tag = options.any_tag;
  return post_recv(peer, buffer, local, out);
}

matching_engine::matching_engine(weft::runtime& owner, const matching_engine_options& options)
    : runtime_{&owner}, state_{&owner.state_->make_engine(options)}, id_{state_->id} {}

matching_engine::~matching_engine() {
  if (state_ != nullptr) core::end_of_engine{*runtime_->state_, state_}.wait();
}

bool matching_engine::is_ordered() const noexcept { return state_->is_ordered() && !state_->receiver_first; }
bool matching_engine::is_receiver_first() const noexcept { return state_->receiver_first; }
match_key_function matching_engine::make_key() const noexcept { return state_->make_key; }

memory_region::memory_region(weft::runtime& owner, std::size_t bytes) : runtime_{&owner} {
  if (bytes == 0) throw error{errc::invalid_argument, "memory_region: no bytes to allocate"};
  core::region_table& regions = owner.state_->regions();
  memory_ = regions.allocate(bytes);
  handle_ = {owner.state_->job(), regions.open(memory_), bytes, owner.state_->rank()};
}

memory_region::memory_region(weft::runtime& owner, std::span<std::byte> memory) : runtime_{&owner}, memory_{memory} {
  if (memory.empty())
    throw error{errc::invalid_argument, "memory_region: there is nothing to open, the memory is empty"};
  if (memory.data() == nullptr) {
    throw error{errc::invalid_argument,
                fmt::format("memory_region: the memory is null but has {} bytes", memory.size())};
  }
  handle_ = {owner.state_->job(), owner.state_->regions().open(memory), memory.size(), owner.state_->rank()};
}

memory_region::~memory_region() { runtime_->state_->regions().close(handle_.name); }

}  // namespace weft
