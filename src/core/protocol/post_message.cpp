// Posting a message, active or for a receive: in the descriptor, in a packet, or as an RTS that its target fetches.
//
// Cost of 8 bytes: one virtual call and what the transport does (shared memory: one cache line).
#include <fmt/format.h>

#include <cstring>

#include "core/device/device_state.hpp"
#include "core/matching/engine_state.hpp"
#include "core/protocol/post_numbered.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

net::header header_of(wire kind, const message_request& request) noexcept {
  return {.kind = kind_word(kind, request.policy), .id = request.id, .sequence = request.sequence, .tag = request.tag};
}

completion_record record_of(const message_request& request) noexcept {
  detail::raw_record raw;
  raw.peer = request.peer;
  raw.what = request.what;
  raw.place = detail::payload_place::borrowed;
  raw.tag = request.tag;
  const auto* address = const_cast<std::byte*>(request.bytes.address());
  raw.refer(
      {const_cast<std::byte*>(address), address != nullptr ? request.bytes.bytes() : 0, nullptr, request.context});
  return completion_record{raw};
}

// What was posted, for as long as it is under way.
void describe(operation_state& operation, const message_request& request, wire kind) noexcept {
  operation.what = request.what;
  operation.peer = request.peer;
  operation.device = request.device;
  operation.id = request.id;
  operation.kind = kind_word(kind, request.policy);
  operation.sequence = request.sequence;
  operation.tag = request.tag;
  operation.source = request.bytes;
  operation.bytes = request.bytes.bytes();
  operation.acknowledge = request.delivered;
  operation.context = request.context;
  operation.will_signal(*request.local);
}

}  // namespace

status device_state::post_long(std::uint32_t peer, std::uint32_t id, const source_payload& bytes, completion& local,
                               const post_am_options& options) {
  runtime_->check_object("post_am", local);
  return post_message({.eager = wire::active_message,
                       .rts = wire::rts,
                       .what = operation::active_message,
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

// A short message whose way is to be found, or is no ring.
status device_state::inject(std::uint32_t peer, std::uint32_t device, std::uint32_t kind, std::uint32_t id,
                            std::uint64_t tag, const_buffer_ref bytes) {
  const net::header what{.kind = kind, .id = id, .sequence = 0, .tag = tag};
  const operation op = kind_of(kind) == wire::send ? operation::send : operation::active_message;
  const auto count = static_cast<std::uint32_t>(bytes.bytes());
  return unless_cut_off(op, peer,
                        posted_inline(op, count, way(peer).try_inject(peer, device, what, bytes.address(), count)));
}

// Whether the bytes go with the message. Otherwise it is an RTS: it is long, its arrival is to be confirmed, or too
// many of this rank's messages wait for receives there.
bool device_state::goes_at_once(const message_request& request) noexcept {
  const std::uint64_t bytes = request.bytes.bytes();
  if (request.delivered || bytes > runtime_->packets().packet_bytes()) return false;
  return bytes <= detail::inline_bytes_max || request.eager != wire::send ||
         !runtime_->unexpected_sends().budget().wants_offers(request.peer);
}

status device_state::post_message(const message_request& request) {
  return unless_cut_off(request.what, request.peer,
                        counts_.answered(request.what, request.bytes.bytes(), try_post_message(request)));
}

status device_state::post_send(const message_request& request, engine_state& engine) {
  return unless_cut_off(request.what, request.peer,
                        counts_.answered(request.what, request.bytes.bytes(), try_post_send(request, engine)));
}

status device_state::try_post_message(const message_request& request) {
  const bool at_once = goes_at_once(request);
  if (!request.allow_done && at_once) return post_and_signal(request);
  const status result = try_post(request, at_once);
  if (result.is_retry() && !request.allow_retry) return post_later(request, at_once);
  return result;
}

// In an ordered engine a message takes its number under the lock of its (peer, engine), and only if it is posted.
status device_state::try_post_send(const message_request& request, engine_state& engine) {
  if (!engine.is_ordered()) return try_post_message(request);
  if (engine.receiver_first) return post_for_ready(request, engine);
  return post_numbered(*engine.numbers, request, request.what, runtime_->posts().count(), [&](std::uint32_t number) {
    message_request numbered = request;
    numbered.sequence = number;
    return try_post_message(numbered);
  });
}

// Of an engine whose receivers begin: the send waits here.
status device_state::post_for_ready(const message_request& request, engine_state& engine) {
  runtime_->refuse_if_cut_off("post_send", request.peer);
  operation_state* const send = runtime_->posts().try_get();
  if (send == nullptr) {
    if (request.allow_retry) return status::retry(shortage::operations);
    throw_backlog_full(request.what, request.peer, runtime_->posts().count());
  }
  describe(*send, request, wire::last_chunk);
  if (request.delivered) runtime_->await(*send);
  return match_ready(*send, engine, request.allow_done, request.allow_retry);
}

status device_state::try_post(const message_request& request, bool at_once) noexcept {
  if (!at_once) return post_rts(request);
  shortage reason = shortage::none;
  const net::header what = header_of(request.eager, request);
  if (post_eager(request.peer, request.device, what, request.bytes, reason) == net::post_result::ok) {
    return status::done();
  }
  return status::retry(reason);
}

net::post_result device_state::post_eager(std::uint32_t peer, std::uint32_t device, const net::header& what,
                                          const source_payload& bytes, shortage& reason) noexcept {
  const auto count = static_cast<std::uint32_t>(bytes.bytes());
  net::post_result result = net::post_result::full;
  if (count <= detail::inline_bytes_max) {
    if (!bytes.is_list()) {
      result = way(peer).try_inject(peer, device, what, bytes.address(), count);
    } else {
      std::byte gathered[detail::inline_bytes_max];
      bytes.copy_to(gathered, 0, count);
      result = way(peer).try_inject(peer, device, what, gathered, count);
    }
  } else {
    packet_pool& packets = runtime_->packets();
    const std::uint32_t packet = packets.try_get_for(count);
    if (packet == packet_pool::none) {
      reason = shortage::packets;
      return result;
    }
    bytes.copy_to(packets.data(packet), 0, count);
    result = way(peer).try_send(peer, device, what, packet, count);
    if (result == net::post_result::ok) {
      counts_.went(path::one_packet, operation::message, count);
    } else {
      packets.put(packet);
    }
  }
  if (result != net::post_result::ok) reason = shortage_of(result);
  return result;
}

// The packet is the transport's after done, or back in the pool where its bytes ride in the descriptor.
status device_state::post_packet(std::uint32_t peer, std::uint32_t id, std::uint32_t packet, std::uint32_t bytes,
                                 const post_packet_options& options) {
  const net::header what = active_message_to(id, options.tag);
  packet_pool& packets = runtime_->packets();
  if (bytes > detail::inline_bytes_max) {
    const net::post_result sent = way(peer).try_send(peer, options.device, what, packet, bytes);
    if (sent == net::post_result::ok) counts_.went(path::one_packet, operation::message, bytes);
    return unless_cut_off(operation::active_message, peer, posted_inline(operation::active_message, bytes, sent));
  }
  const net::post_result result = way(peer).try_inject(peer, options.device, what, packets.data(packet), bytes);
  if (result == net::post_result::ok) packets.put(packet);
  return unless_cut_off(operation::active_message, peer, posted_inline(operation::active_message, bytes, result));
}

status device_state::post_rts(const message_request& request) noexcept {
  operation_state* operation = runtime_->posts().try_get();
  if (operation == nullptr) return status::retry(shortage::operations);
  describe(*operation, request, request.rts);
  if (request.delivered) runtime_->await(*operation);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is out
  operation->reach(step::wait_for_answer);
  const rts_body body{reinterpret_cast<std::uint64_t>(request.bytes.address()), request.bytes.bytes(), ticket,
                      request.delivered};
  net::header what = header_of(request.rts, request);
  what.note = operation_pool::note_of(ticket);
  const net::post_result result = inject(request.peer, request.device, what, body);
  if (result == net::post_result::ok) return status::posted(ticket);
  operation_state::take_back_signal(*request.local);
  runtime_->put_back(*operation);
  return status::retry(shortage_of(result));
}

// For those who want every completion signalled: the operation is there before the message is out, so that a
// completion object that is full can be signalled later.
status device_state::post_and_signal(const message_request& request) {
  operation_state* operation = runtime_->posts().try_get();
  shortage reason = shortage::operations;
  if (operation != nullptr) {
    const net::header what = header_of(request.eager, request);
    if (post_eager(request.peer, request.device, what, request.bytes, reason) == net::post_result::ok) {
      const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] still
      completion_record record = record_of(request);
      operation_state::promise_signal(*request.local);
      if (operation_state::give_signal(*request.local, record)) {
        runtime_->signalled(request.local);
        runtime_->put_back(*operation);
      } else {
        describe(*operation, request, request.eager);
        operation_state::take_back_signal(*request.local);  // promised twice now
        take_up(*operation, step::signal);
      }
      return status::posted(ticket);
    }
    runtime_->put_back(*operation);
  }
  return request.allow_retry ? status::retry(reason) : post_later(request, true);
}

status device_state::post_later(const message_request& request, bool at_once) {
  operation_state* operation = runtime_->posts().try_get();
  if (operation == nullptr) throw_backlog_full(request.what, request.peer, runtime_->posts().count());
  describe(*operation, request, at_once ? request.eager : request.rts);
  if (request.delivered) runtime_->await(*operation);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is added
  take_up(*operation, step::post);
  return status::posted(ticket);
}

void throw_backlog_full(operation what, std::uint32_t peer, std::uint32_t count) {
  throw error{errc::backlog_full,
              fmt::format("a post ({}) to rank {} may not answer retry, but {} operations are under way already: call "
                          "progress() before posting more, or raise WEFT_OPERATIONS_MAX or WEFT_RECEIVES_MAX",
                          name_of(what), peer, count)};
}

bool device_state::post_again(operation_state& operation) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  net::header what{.kind = operation.kind, .id = operation.id, .sequence = operation.sequence, .tag = operation.tag};
  const wire kind = kind_of(operation.kind);
  if (kind == wire::active_message || kind == wire::send) {
    shortage reason = shortage::none;
    if (post_eager(operation.peer, operation.device, what, operation.source, reason) != net::post_result::ok) {
      return false;
    }
    operation.reach(step::signal);
    return signal(operation);
  }
  const rts_body body{reinterpret_cast<std::uint64_t>(operation.source.address()), operation.bytes, ticket,
                      operation.acknowledge};
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  what.note = operation_pool::note_of(ticket);
  operation.reach(step::wait_for_answer);  // nothing of it is looked at from here on
  if (inject(peer, device, what, body) == net::post_result::ok) return true;
  operation.reach(step::post);
  return false;
}

}  // namespace weft::core
