// The steps of a long message after its RTS is out, and what else waits in a backlog. Each step does a bounded
// piece of work and answers true once this device has nothing more to do for the operation.
//
// The receiver copies straight from the sender's memory where the transport can (fetch, then send_fin); otherwise the
// sender streams packets (send_rtr, then stream). yan2025-lci, 5.3: the zero-copy protocol.
#include <algorithm>
#include <cstring>

#include "base/assertion.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {
namespace {

// Bytes copied from a peer's memory in one call of progress: some tens of microseconds.
constexpr std::uint64_t fetch_bytes_max = std::uint64_t{512} << 10;

// Packets of one long message that are sent in one call of progress.
constexpr unsigned chunks_at_once = 8;

// Whether a step does nothing but send: it can't be done where nothing can be sent.
constexpr bool sends_next(step next) noexcept {
  return next == step::post || next == step::ask || next == step::notify || next == step::stream ||
         next == step::send_rtr || next == step::answer_atomic || next == step::ready || next == step::write ||
         next == step::send_written;
}

completion_record record_of(const operation_state& operation) noexcept {
  detail::raw_record raw;
  raw.peer = operation.peer;
  raw.tag = operation.tag;
  raw.error = operation.error;
  raw.what = operation.what;
  raw.place = operation.owner != nullptr ? detail::payload_place::owned : detail::payload_place::borrowed;
  const auto* data = operation.into.address() != nullptr ? operation.into.address() : operation.source.address();
  raw.refer({const_cast<std::byte*>(data), data != nullptr ? operation.bytes : 0, operation.owner, operation.context,
             operation.message_bytes});
  return completion_record{raw};
}

}  // namespace

void device_state::take_up(operation_state& operation, step next) noexcept {
  operation.reach(next);
  put_off(operation);
}

void device_state::put_off(operation_state& operation) noexcept {
  counts_.put_off();
  backlog_.add(operation);
  runtime_->parking().stir(index_);  // whoever sleeps here is to go on with it
}

bool device_state::advance(operation_state& operation) noexcept {
  shortage reason = shortage::none;  // nobody asks for it here
  // [operation.resume] relaxed: the backlog has carried the operation here.
  const step next = operation.next.load(std::memory_order_relaxed);
  if (sends_next(next) && end_if_cut_off(operation)) [[unlikely]]
    return signal(operation);
  switch (next) {
    case step::post: return post_again(operation);
    case step::stream: return stream(operation);
    case step::match: return try_match(operation);
    case step::transfer: return go_on(operation, transfer(operation, reason));
    case step::ask: return go_on(operation, ask(operation, reason));
    case step::notify: return go_on(operation, notify(operation));
    case step::answer_atomic: return answer_atomic(operation);
    case step::send_rtr: return send_rtr(operation);
    case step::fetch: return fetch(operation);
    case step::share: return write_share(operation);
    case step::send_fin: return send_fin(operation);
    case step::ready: return ready(operation);
    case step::write: return write(operation);
    case step::send_written: return send_written(operation);
    case step::signal: return signal(operation);
    case step::free:
    case step::wait_for_answer:
    case step::wait_for_chunks:
    case step::wait_for_match:
    case step::wait_for_sender: break;
  }
  WEFT_ASSERT_CHECKED(next >= step::post);  // only those lie in a backlog
  return true;
}

bool device_state::stream(operation_state& operation) noexcept {
  packet_pool& packets = runtime_->packets();
  // Where the target answers the last packet, the operation may be over as soon as that is out.
  const bool is_answered = operation.acknowledge && operation.set == operation_set::posts;
  // The receiver learns from the last packet how long the message is, unless it has been told.
  const wire last =
      !is_answered && operation.what == weft::operation::send && kind_of(operation.kind) == wire::last_chunk
          ? wire::last_chunk
          : wire::chunk;
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until the last is out
  std::uint64_t sent = operation.moved.load(std::memory_order_relaxed);           // [own] the sender's alone
  for (unsigned i = 0; i < chunks_at_once && sent < operation.bytes; ++i) {
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(operation.bytes - sent, packets.packet_bytes()));
    const std::uint32_t packet = packets.try_get_for(bytes);
    if (packet == packet_pool::none) return false;
    operation.source.copy_to(packets.data(packet), sent, bytes);
    const bool is_last = sent + bytes == operation.bytes;
    const net::header what{.kind = static_cast<std::uint32_t>(is_last ? last : wire::chunk),
                           .id = static_cast<std::uint32_t>(sent),
                           .sequence = static_cast<std::uint32_t>(sent >> 32),
                           .note = is_answered ? operation_pool::note_of(ticket) : 0,
                           .tag = operation.remote_ticket};
    const bool ends = is_answered && is_last;
    const std::uint32_t peer = operation.peer;
    const std::uint32_t device = operation.device;
    const weft::operation kind = operation.what;
    if (ends) operation.reach(step::wait_for_answer);  // nothing of it is looked at from here on
    if (way(peer).try_send(peer, device, what, packet, bytes) != net::post_result::ok) {
      if (ends) operation.reach(step::stream);
      packets.put(packet);
      return false;
    }
    if (is_last) counts_.went(path::many_packets, kind, sent + bytes);
    if (ends) return true;
    sent += bytes;
    operation.moved.store(sent, std::memory_order_relaxed);  // [own] the sender's alone
  }
  if (sent < operation.bytes) return false;
  operation.reach(step::signal);
  return signal(operation);
}

bool device_state::send_rtr(operation_state& operation) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  const rtr_body body{operation.remote_ticket, ticket};
  const net::header what{.kind = static_cast<std::uint32_t>(wire::rtr), .note = operation_pool::note_of(ticket)};
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  operation.reach(step::wait_for_chunks);  // nothing of it is looked at from here on
  if (inject(peer, device, what, body) == net::post_result::ok) return true;
  operation.reach(step::send_rtr);
  return false;
}

bool device_state::fetch(operation_state& operation) noexcept {
  if (operation.remote_address == 0) return send_rtr(operation);  // not in one place there
  if (operation.share != nullptr || begin_share(operation)) return fetch_share(operation);
  const std::uint64_t done = operation.moved.load(std::memory_order_relaxed);  // [own] the fetching device's alone
  const auto piece = operation.into.piece_at(done);
  const std::uint64_t bytes = std::min({operation.bytes - done, fetch_bytes_max, std::uint64_t{piece.size()}});
  switch (way(operation.peer)
              .read_remote(operation.peer, piece.data(), operation.remote_address + done,
                           static_cast<std::size_t>(bytes))) {
    case net::copy_result::done:
      operation.moved.store(done + bytes, std::memory_order_relaxed);  // [own] the fetching device's alone
      if (done + bytes < operation.bytes) return false;
      counts_.went(path::copied, operation.what, operation.bytes);
      break;
    case net::copy_result::unavailable:
      operation.moved.store(0, std::memory_order_relaxed);  // [own] no chunk is under way yet
      return send_rtr(operation);
    case net::copy_result::bad_address: operation.error = errc::transport_failed; break;
    case net::copy_result::peer_gone: operation.error = errc::peer_failed; break;
  }
  return send_fin(operation);
}

bool device_state::send_fin(operation_state& operation) noexcept {
  // Whom nothing can be told is not waited for: what was received is here.
  if (operation.error != errc::peer_failed && !runtime_->is_cut_off(operation.peer)) {
    // That its message was too long is the receiver's error alone.
    const errc told = operation.error == errc::truncated ? errc::none : operation.error;
    const fin_body body{operation.remote_ticket, static_cast<std::uint64_t>(told)};
    const net::header what{.kind = static_cast<std::uint32_t>(wire::fin)};
    if (inject(operation.peer, operation.device, what, body) != net::post_result::ok) {
      operation.reach(step::send_fin);
      return false;
    }
  }
  if (operation.target == nullptr) {
    runtime_->put_back(operation);
    return true;
  }
  operation.reach(step::signal);
  return signal(operation);
}

bool device_state::signal(operation_state& operation) noexcept {
  if (operation.target == nullptr) {
    // Its buffer was free long ago; an error is for the next flush.
    if (operation.error != errc::none) runtime_->note_failure(operation.peer);
    runtime_->put_back(operation);
    return true;
  }
  runtime_->forget(operation);  // it is through: a flush doesn't wait for room in the object
  // A receive that lay in the backlog can't be cancelled any more, as its object may want to know.
  if (operation.next.load(std::memory_order_relaxed) == step::match) operation.reach(step::signal);  // [own]
  completion& object = *operation.target;
  completion_record record = record_of(operation);
  if (!operation_state::give_signal(object, record)) {
    record.detach();  // the payload stays with the operation
    return false;
  }
  runtime_->signalled(&object);
  runtime_->put_back(operation);
  return true;
}

}  // namespace weft::core
