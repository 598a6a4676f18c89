// SPDX-License-Identifier: BSD-3-Clause
#include "core/protocol/rendezvous.hpp"

#include <algorithm>
#include <utility>

#include "base/log.hpp"
#include "core/message/message_body.hpp"
#include "core/operation/copy_step.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/cooperative_copy.hpp"
#include "core/protocol/direct_copy.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/receiver_first.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::rendezvous {

namespace {

// Packets of one long message that are sent in one call of progress.
constexpr unsigned chunks_per_call = 8;

// Both sides get an error, as the message would otherwise wait for ever.
bool fail_for_memory(device_state& dev, operation_state& operation, remote_entry& to, const net::arrival& message,
                     const rts_body& body) noexcept {
  if (to.told_of_memory.first()) {
    base::log_error(
        "a message of {} bytes from rank {} for id {} is more than this process can ever have: it fails with "
        "out_of_memory here and there; send it in parts, or put it into a memory region; of others for this "
        "id nothing is said",
        body.bytes, message.source, message.header.id);
  }
  operation.receiving.message_bytes = body.bytes;
  operation.bytes = 0;
  operation.will_signal(*to.target);
  refuse(dev, operation, body.ticket, errc::out_of_memory);
  return true;
}

// Each call of progress tries the allocation again. Messages behind this one are delivered while there is room to put
// such messages aside.
bool wait_for_memory(device_state& dev, operation_state& operation, remote_entry& to, const net::arrival& message,
                     const rts_body& body) noexcept {
  if (to.told_of_memory.first()) {
    base::log_warn(
        "a message of {} bytes from rank {} for id {} waits until its allocator, or the system, has memory for "
        "it; of others for this id nothing is said",
        body.bytes, message.source, message.header.id);
  }
  complete::put_back(dev, operation);
  return arrive::put_aside(dev, message);
}

}  // namespace

bool on_rts(device_state& dev, const net::arrival& message) noexcept {
  rts_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  const found_entry to = arrive::find_entry(dev, message);
  if (to.state == lookup::no_room) return false;
  if (to.state == lookup::kept) return true;
  operation_state* operation = arrive::get_operation(dev, message);
  if (operation == nullptr) return arrive::put_aside(dev, message);
  operation->opcode = operation::message;
  if (to.state == lookup::withdrawn) {
    arrive::count_dropped(dev);
    refuse(dev, *operation, body.ticket, errc::unknown_completion);
    return true;
  }
  if (body.bytes != 0) {
    if (!dev.operations().try_begin_long_message(*operation)) {
      complete::put_back(dev, *operation);
      return arrive::put_aside(dev, message);
    }
    if (to.entry->owner.is_beyond_all(body.bytes)) return fail_for_memory(dev, *operation, *to.entry, message, body);
    void* const memory = to.entry->owner.allocate(body.bytes, message.source, message.header.tag);
    if (memory == nullptr) return wait_for_memory(dev, *operation, *to.entry, message, body);
    operation->receiving.owner = &to.entry->owner;
    const auto size = static_cast<std::size_t>(body.bytes);
    const weft::memory* const kind = to.entry->owner.kind();
    operation->receiving.into = kind == nullptr ? buffer_ref{memory, size} : buffer_ref{memory, size, *kind};
  }
  operation->will_signal(*to.entry->target);
  begin(dev, *operation, body);
  return true;
}

void begin(device_state& dev, operation_state& receiving, const rts_body& body) noexcept {
  receiving.receiving.message_bytes = body.bytes;
  receiving.copying.remote_ticket = body.ticket;
  // Memory of a kind at this side takes packets. A kind may end meanwhile, so this is asked once.
  receiving.copying.begin(receiving.receiving.into.is_for_peers() ? body.address : 0, body.pieces);
  receiving.copying.acknowledge = body.acknowledge != 0;
  const bool fits = body.bytes <= receiving.receiving.into.bytes();
  receiving.bytes = fits ? body.bytes : 0;
  if (!fits) {
    receiving.error = errc::truncated;
    complete::log_truncated(receiving);
  }
  dev.memory().copy_choices().begin(receiving);
  dev.defer(receiving, receiving.bytes != 0 ? step::fetch : step::send_fin);
}

void refuse(device_state& dev, operation_state& answer, std::uint64_t ticket, errc why) noexcept {
  answer.copying.remote_ticket = ticket;
  answer.error = why;
  dev.defer(answer, step::send_fin);
}

bool on_fin(device_state& dev, const net::arrival& message) noexcept {
  fin_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  operation_state* operation = dev.operations().posts().find(body.ticket, message.source, step::wait_for_answer);
  // A refused get ends before its first packet.
  if (operation == nullptr && body.error != 0) {
    operation = dev.operations().posts().find(body.ticket, message.source, step::wait_for_chunks);
  }
  if (operation == nullptr) return arrive::reject(dev, message);
  operation->error = arrive::error_of(body.error);
  complete::signal_or_defer(dev, *operation);
  return true;
}

bool on_rtr(device_state& dev, const net::arrival& message) noexcept {
  rtr_body body;
  operation_state* const operation = arrive::answered(dev, message, body);
  if (operation == nullptr) return true;
  if (!has_bytes_to_send(*operation)) return arrive::reject(dev, message);
  operation->copying.remote_ticket = body.receiver_ticket;
  operation->device = asker_of(message.header.kind);  // the packets are its answer
  dev.defer(*operation, step::stream);
  return true;
}

void copy_chunk(operation_state& to, const net::arrival& chunk, std::uint64_t offset) noexcept {
  const target_payload into = to.receiving.into;  // if the peer is faulty, another thread may end the operation
  const bool copied = to.copying.with_position(into.is_list(), chunk.header.tag, [&](list_position& position) {
    return into.copy_from(chunk.payload, offset, chunk.bytes, position);
  });
  // [chunk.fail] relaxed -> [chunk.failed], [written.failed]: published by the count of the chunk.
  if (!copied) [[unlikely]]
    to.copying.has_failed.store(true, std::memory_order_relaxed);
}

namespace {

// A kind of memory could not copy all bytes. The record will have none, so the memory from an allocator goes back now.
void fail_for_kind(operation_state& operation) noexcept {
  if (detail::payload_owner* const owner = std::exchange(operation.receiving.owner, nullptr); owner != nullptr) {
    owner->release(operation.receiving.into.address_of_piece(), static_cast<std::size_t>(operation.bytes));
    operation.receiving.into = {};
  }
  operation.error = errc::memory_failed;
  operation.bytes = 0;
}

// Counts bytes that have arrived; the last ones complete the operation, of `all` bytes.
void count_arrived(device_state& dev, operation_state& operation, std::uint64_t bytes, std::uint64_t all) noexcept {
  // [chunk.count] acq_rel -> [chunk.count]: the thread that copies the last chunk sees all others in the buffer.
  if (operation.copying.moved.fetch_add(bytes, std::memory_order_acq_rel) + bytes != all) return;
  // [chunk.failed] relaxed <- [chunk.fail], [chunk.fail_at_sender]: published by the count.
  if (operation.copying.has_failed.load(std::memory_order_relaxed)) [[unlikely]]
    fail_for_kind(operation);
  dev.memory().copy_choices().end(operation);
  if (operation.copying.acknowledge) {
    // The backlog continues with the step that is left: FIN, or the signal of a completion object that is full.
    if (!send_fin(dev, operation)) dev.defer(operation);
  } else {
    complete::signal_or_defer(dev, operation);
  }
}

}  // namespace

bool on_chunk(device_state& dev, const net::arrival& message) noexcept {
  const std::uint64_t offset = std::uint64_t{message.header.sequence} << 32 | message.header.id;
  operation_state* operation = dev.operations().find(message.header.tag, message.source, step::wait_for_chunks);
  if (operation == nullptr) return receiver_first::on_written_chunk(dev, message, offset);
  if (kind_of(message.header.kind) != wire::chunk || message.bytes == 0 ||
      !is_within(offset, message.bytes, operation->bytes)) {
    return arrive::reject(dev, message);
  }
  copy_chunk(*operation, message, offset);
  const std::uint32_t bytes = message.bytes;
  const std::uint64_t all = operation->bytes;  // once this chunk is counted, the operation may be another one
  give_back(message);
  count_arrived(dev, *operation, bytes, all);
  return true;
}

// Counts like the last chunk: packets that were sent before it may arrive after it.
bool on_chunks_failed(device_state& dev, const net::arrival& message) noexcept {
  chunks_failed_body body;
  if (!read_body(message, body)) return arrive::reject(dev, message);
  operation_state* const operation = dev.operations().find(message.header.tag, message.source, step::wait_for_chunks);
  if (operation == nullptr) return receiver_first::on_chunks_failed(dev, message, body);
  if (body.bytes != operation->bytes || body.sent == body.bytes) return arrive::reject(dev, message);
  // [chunk.fail_at_sender] relaxed -> [chunk.failed]: published by the count.
  operation->copying.has_failed.store(true, std::memory_order_relaxed);
  count_arrived(dev, *operation, operation->bytes - body.sent, operation->bytes);
  return true;
}

// If the target answers, it has the error, too, and this rank gets it from there.
bool fail_chunks(device_state& dev, operation_state& operation) noexcept {
  const bool is_answered = operation.copying.acknowledge && operation.set() == operation_set::posts;
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);       // [own] until it is out
  const std::uint64_t sent = operation.copying.moved.load(std::memory_order_relaxed);  // [own] the sender's alone
  const chunks_failed_body body{sent, operation.bytes, !is_answered};
  const net::header header{.kind = static_cast<std::uint32_t>(wire::chunks_failed),
                           .note = is_answered ? operation_pool::note_of(ticket) : 0,
                           .tag = operation.copying.remote_ticket};
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  // [own] this thread's until it is out
  const step back = operation.next.load(std::memory_order_relaxed);
  const auto send = [&] { return dev.routes().try_send_body(peer, device, header, body); };
  const net::post_result result =
      is_answered ? send_and_wait(dev, operation, step::wait_for_answer, back, send) : send();
  if (result != net::post_result::ok) return false;
  if (is_answered) return true;
  operation.error = errc::memory_failed;
  operation.reach(step::try_signal);
  return complete::try_signal(dev, operation);
}

bool stream(device_state& dev, operation_state& operation) noexcept {
  packet_pool& packets = dev.memory().packets();
  // If the target answers the last packet, the operation may be complete as soon as that packet is sent.
  const bool is_answered = operation.copying.acknowledge && operation.set() == operation_set::posts;
  // The receiver learns the message's size from the last packet, unless it has been told before.
  const wire last =
      !is_answered && operation.opcode == weft::operation::send && kind_of(operation.sending.kind) == wire::last_chunk
          ? wire::last_chunk
          : wire::chunk;
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until the last is out
  std::uint64_t sent = operation.copying.moved.load(std::memory_order_relaxed);   // [own] the sender's alone
  for (unsigned i = 0; i < chunks_per_call && sent < operation.bytes; ++i) {
    const auto bytes =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(operation.bytes - sent, packets.packet_bytes()));
    const std::uint32_t packet = packets.try_get_for(bytes);
    if (packet == packet_pool::none) return false;
    const source_payload& source = operation.sending.source;
    const bool is_read = operation.copying.with_position(source.is_list(), ticket, [&](list_position& position) {
      return source.copy_to(packets.data(packet), sent, bytes, position);
    });
    if (!is_read) [[unlikely]] {
      packets.put(packet);
      return fail_chunks(dev, operation);
    }
    const bool is_last = sent + bytes == operation.bytes;
    const net::header header{.kind = static_cast<std::uint32_t>(is_last ? last : wire::chunk),
                             .id = static_cast<std::uint32_t>(sent),
                             .sequence = static_cast<std::uint32_t>(sent >> 32),
                             .note = is_answered ? operation_pool::note_of(ticket) : 0,
                             .tag = operation.copying.remote_ticket};
    const bool ends = is_answered && is_last;
    const std::uint32_t peer = operation.peer;
    const std::uint32_t device = operation.device;
    const weft::operation opcode = operation.opcode;
    const auto send = [&] { return dev.routes().endpoint_to(peer).try_send(peer, device, header, packet, bytes); };
    const net::post_result result =
        ends ? send_and_wait(dev, operation, step::wait_for_answer, step::stream, send) : send();
    if (result != net::post_result::ok) {
      packets.put(packet);
      return false;
    }
    if (is_last) dev.counts().went(path::many_packets, opcode, sent + bytes);
    if (ends) return true;
    sent += bytes;
    operation.copying.moved.store(sent, std::memory_order_relaxed);  // [own] the sender's alone
  }
  if (sent < operation.bytes) return false;
  operation.reach(step::try_signal);
  return complete::try_signal(dev, operation);
}

bool send_rtr(device_state& dev, operation_state& operation) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  const rtr_body body{operation.copying.remote_ticket, ticket};
  const net::header header{.kind = asking_word(wire::rtr, dev.index()), .note = operation_pool::note_of(ticket)};
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  return send_and_wait(dev, operation, step::wait_for_chunks, step::send_rtr,
                       [&] { return dev.routes().try_send_body(peer, device, header, body); }) == net::post_result::ok;
}

bool fetch(device_state& dev, operation_state& operation) noexcept {
  // Packets are for short pieces at the sender, for memory of a kind at either side, and where they are chosen.
  if (operation.copying.remote_address == 0 || operation.copying.chosen.method == copy_method::packets)
    return send_rtr(dev, operation);
  if (operation.copying.state != nullptr || cooperative_copy::begin(dev, operation))
    return cooperative_copy::fetch(dev, operation);
  const std::uint64_t done =
      operation.copying.moved.load(std::memory_order_relaxed);  // [own] the fetching device's alone
  const target_payload& into = operation.receiving.into;
  const std::uint64_t bytes = copy_step(operation, done, into.piece_bytes());
  switch (direct_copy::read(dev, operation, into, done, bytes)) {
    case net::copy_result::done:
      operation.copying.moved.store(done + bytes, std::memory_order_relaxed);  // [own] the fetching device's alone
      if (done + bytes < operation.bytes) return false;
      dev.memory().copy_choices().end(operation);
      dev.counts().went(path::copied, operation.opcode, operation.bytes);
      break;
    case net::copy_result::unavailable:
      operation.copying.moved.store(0, std::memory_order_relaxed);  // [own] no chunk is under way yet
      return send_rtr(dev, operation);
    case net::copy_result::bad_address: operation.error = errc::transport_failed; break;
    case net::copy_result::peer_gone:
      operation.error = errc::peer_failed;
      look_for_ends_soon(dev);
      break;
  }
  return send_fin(dev, operation);
}

bool send_fin(device_state& dev, operation_state& operation) noexcept {
  // A sender that is cut off gets no FIN. A sender whose memory could not be read gets it: only a transport says that a
  // rank has ended.
  if (!is_cut_off(dev, operation.peer)) {
    // A message that is longer than the receive's buffer is an error for the receiver only.
    const errc told = operation.error == errc::truncated ? errc::none : operation.error;
    const fin_body body{operation.copying.remote_ticket, static_cast<std::uint64_t>(told)};
    const net::header header{.kind = static_cast<std::uint32_t>(wire::fin)};
    if (dev.routes().try_send_body(operation.peer, operation.device, header, body) != net::post_result::ok) {
      operation.reach(step::send_fin);
      return false;
    }
  }
  if (operation.owed.target == nullptr) {
    complete::put_back(dev, operation);
    return true;
  }
  operation.reach(step::try_signal);
  return complete::try_signal(dev, operation);
}

}  // namespace weft::core::rendezvous
