// SPDX-License-Identifier: BSD-3-Clause
// Puts, gets and remote atomics at their origin: copied straight from or to the target's memory if that is mapped or
// the kernel can copy, else requested by messages, which the target's progress answers (yan2025-lci, table 1).
//
// Cost of 8 bytes into mapped memory: the peer's region in its table, and the copy.
#include "core/protocol/one_sided_origin.hpp"
#include "core/operation/copy_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/device/device_state.hpp"
#include "core/protocol/awaited.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/direct_copy.hpp"
#include "core/protocol/lost_message.hpp"
#include "core/protocol/post_message.hpp"
#include "core/protocol/remote_atomic.hpp"
#include "core/runtime/rank_memory.hpp"

namespace weft::core::one_sided_origin {

namespace {

void describe(operation_state& operation, const transfer_request& request, const region_location& location) noexcept {
  operation.opcode = request.opcode;
  operation.peer = request.peer;
  operation.device = request.device;
  operation.sending.id = request.signal;
  operation.tag = request.tag;
  operation.transfer.atomic = request.atomic;
  operation.sending.source = request.source;
  operation.receiving.into = request.into;
  operation.bytes = request.bytes;
  operation.transfer.region = request.remote.region.name;
  operation.transfer.region_offset = request.remote.offset;
  operation.transfer.mapped = location.memory;
  operation.copying.begin(location.reach == region_location::access::copied ? location.address : 0, 0);
  operation.copying.acknowledge = request.opcode != operation::get;  // a get is complete with its last packet
  operation.owed.context = request.context;
}

[[noreturn]] void refuse_unreachable(const transfer_request& request) {
  throw error{
      errc::region_refused,
      fmt::format("{} of {} bytes at offset {} of a region of rank {}: the region has been withdrawn, or does not "
                  "reach that far",
                  name_of(request.opcode), request.bytes, request.remote.offset, request.peer)};
}

// Only for mapped memory: if the atomic is sent as a message, the target checks the alignment.
void check_alignment(const transfer_request& request, const region_location& location) {
  if (request.opcode != operation::atomic || location.reach != region_location::access::mapped ||
      reinterpret_cast<std::uintptr_t>(location.memory) % request.bytes == 0) [[likely]] {
    return;
  }
  throw error{errc::region_refused,
              fmt::format("atomic of {} bytes at offset {} of a region of rank {}: the region's memory begins at an "
                          "address that is not a multiple of {}, so the word is not aligned",
                          request.bytes, request.remote.offset, request.peer, request.bytes)};
}

attempt begin_transfer(device_state& dev, operation_state& operation, shortage& reason) noexcept {
  // No bytes to move: only the signal is left.
  if (operation.bytes == 0) return notify(dev, operation);
  const bool for_system = operation.sending.source.is_for_peers() && operation.receiving.into.is_for_peers();
  const bool direct = operation.transfer.mapped != nullptr ||
                      (operation.copying.remote_address != 0 && operation.opcode != operation::atomic && for_system);
  operation.next.store(direct ? step::transfer : step::ask, std::memory_order_relaxed);  // [own]
  return direct ? transfer(dev, operation, reason) : ask(dev, operation, reason);
}

std::uint64_t put_bytes_max(device_state& dev) noexcept {
  return dev.memory().packets().packet_bytes() - sizeof(put_body);
}

status try_post_transfer(device_state& dev, const transfer_request& request) {
  const region_location location =
      dev.memory().regions().locate(request.peer, request.remote.region.name, request.remote.offset, request.bytes);
  if (location.reach == region_location::access::refused) refuse_unreachable(request);
  // No memory of a rank that is known to have ended is found.
  if (location.reach == region_location::access::asked) refuse_if_cut_off(dev, request.opcode, request.peer);
  check_alignment(request, location);
  operation_state* const operation = dev.operations().posts().try_get();
  if (operation == nullptr) {
    if (request.allow_retry) return status::retry(shortage::operations);
    throw_backlog_full(request.opcode, request.peer, dev.operations().posts().count());
  }
  describe(*operation, request, location);
  operation->will_signal(*request.local);
  const std::uint64_t ticket = operation->ticket.load(std::memory_order_relaxed);  // [own] until it is out
  // If the post answers done with its first message, the buffer is free, and only a flush still waits for the
  // operation.
  const bool done_when_sent = request.allow_done && !request.delivered && request.opcode != operation::get &&
                              request.into.bytes() == 0 && request.bytes <= put_bytes_max(dev);
  operation->sending.done_when_sent = done_when_sent;
  shortage reason = shortage::ring;
  switch (begin_transfer(dev, *operation, reason)) {
    case attempt::finished:
      if (!request.allow_done || operation->error != errc::none) break;
      promise::cancel(*request.local);
      complete::put_back(dev, *operation);
      return status::done();
    case attempt::waiting: return done_when_sent ? status::done() : status::posted(ticket);
    case attempt::stuck:
      if (!request.allow_retry || operation->next.load(std::memory_order_relaxed) != step::ask) {  // [own]
        operation->sending.done_when_sent = false;
        if (request.opcode != operation::get)
          awaited::begin(dev, *operation);  // a flush also waits for a copy by this rank
        dev.defer(*operation);
        return status::posted(ticket);
      }
      awaited::end(dev, *operation);
      promise::cancel(*request.local);
      complete::put_back(dev, *operation);
      return status::retry(reason);
  }
  complete::signal_or_defer(dev, *operation);
  return status::posted(ticket);
}

// Copies a short put into a packet; `none` if no packet is free, or its bytes can't be read: an error.
std::uint32_t pack_put(device_state& dev, operation_state& operation, std::uint64_t ticket) noexcept {
  packet_pool& packets = dev.memory().packets();
  const std::uint32_t packet = packets.try_get_for(operation.bytes);
  if (packet == packet_pool::none) return packet;
  const put_body body{operation.transfer.region, operation.transfer.region_offset, ticket};
  std::memcpy(packets.data(packet), &body, sizeof body);
  if (!operation.sending.source.copy_to(packets.data(packet) + sizeof body,
                                        static_cast<std::size_t>(operation.bytes))) {
    operation.error = errc::memory_failed;
    packets.put(packet);
    return packet_pool::none;
  }
  return packet;
}

// Copies `bytes` bytes, from byte `done` on, to or from the target's memory.
net::copy_result copy_some(device_state& dev, operation_state& operation, std::uint64_t done,
                           std::uint64_t bytes) noexcept {
  const bool is_get = operation.opcode == operation::get;
  if (operation.transfer.mapped == nullptr) {
    return is_get ? direct_copy::read(dev, operation, operation.receiving.into, done, bytes)
                  : direct_copy::write(dev, operation, operation.sending.source, done, bytes);
  }
  std::byte* const there = operation.transfer.mapped + done;
  const target_payload& into = operation.receiving.into;
  const source_payload& from = operation.sending.source;
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] the copying device's
  const bool copied =
      operation.copying.with_position(is_get ? into.is_list() : from.is_list(), ticket, [&](list_position& position) {
        return is_get ? into.copy_from(there, done, static_cast<std::size_t>(bytes), position)
                      : from.copy_to(there, done, static_cast<std::size_t>(bytes), position);
      });
  if (copied) return net::copy_result::done;
  operation.error = errc::memory_failed;
  return net::copy_result::bad_address;
}

}  // namespace

status post_transfer(device_state& dev, const transfer_request& request) {
  WEFT_ASSERT_CHECKED(request.peer < dev.rank_count() && request.local != nullptr);
  WEFT_ASSERT_CHECKED((request.opcode == operation::atomic) == is_atomic_code(request.atomic.code));
  return unless_cut_off(dev, request.opcode, request.peer,
                        dev.counts().answered(request.opcode, request.bytes, try_post_transfer(dev, request)));
}

attempt transfer(device_state& dev, operation_state& operation, shortage& reason) noexcept {
  if (operation.opcode == operation::atomic) {
    const std::uint64_t old = apply_atomic(operation.transfer.mapped, operation.transfer.atomic);
    static_cast<void>(operation.receiving.into.copy_from(  // a word in ordinary memory
        reinterpret_cast<const std::byte*>(&old), static_cast<std::size_t>(operation.receiving.into.bytes())));
    return attempt::finished;
  }
  const std::uint64_t done =
      operation.copying.moved.load(std::memory_order_relaxed);  // [own] the copying device's alone
  const bool is_get = operation.opcode == operation::get;
  const std::uint64_t piece_bytes =
      is_get ? operation.receiving.into.piece_bytes() : operation.sending.source.piece_bytes();
  const std::uint64_t bytes = copy_step(operation, done, piece_bytes);
  switch (bytes == 0 ? net::copy_result::done : copy_some(dev, operation, done, bytes)) {
    case net::copy_result::done: break;
    case net::copy_result::unavailable:
      operation.copying.remote_address = 0;
      operation.copying.moved.store(0, std::memory_order_relaxed);  // [own] begins again by messages
      operation.next.store(step::ask, std::memory_order_relaxed);   // [own]
      return ask(dev, operation, reason);
    case net::copy_result::bad_address:
      if (operation.error == errc::none) operation.error = errc::transport_failed;
      break;
    case net::copy_result::peer_gone:
      operation.error = errc::peer_failed;
      look_for_ends_soon(dev);
      break;
  }
  if (operation.error != errc::none) return attempt::finished;
  operation.copying.moved.store(done + bytes, std::memory_order_relaxed);  // [own] the copying device's alone
  if (done + bytes < operation.bytes) return attempt::stuck;
  if (operation.transfer.mapped == nullptr) dev.counts().went(path::copied, operation.opcode, operation.bytes);
  return notify(dev, operation);
}

// Sends the signal of a put or get whose data this rank has copied.
attempt notify(device_state& dev, operation_state& operation) noexcept {
  if (operation.sending.id == no_signal) return attempt::finished;
  const wire kind = operation.opcode == operation::put ? wire::put_signal : wire::get_signal;
  const net::header header{.kind = static_cast<std::uint32_t>(kind), .id = operation.sending.id, .tag = operation.tag};
  const signal_body body{operation.transfer.region, operation.transfer.region_offset, operation.bytes};
  if (dev.routes().try_send_body(operation.peer, operation.device, header, body) == net::post_result::ok)
    return attempt::finished;
  operation.next.store(step::notify, std::memory_order_relaxed);  // [own]
  return attempt::stuck;
}

// Sends the first message of an operation that the target's progress does. The answer may arrive, and another thread
// continue the operation, before this returns. So all fields are set, and everything that the message needs is read,
// before the operation reaches the step in which it waits. If it is stuck, `reason` names the shortage.
attempt ask(device_state& dev, operation_state& operation, shortage& reason) noexcept {
  const std::uint64_t ticket = operation.ticket.load(std::memory_order_relaxed);  // [own] until it is out
  const std::uint32_t peer = operation.peer;
  const std::uint32_t device = operation.device;
  const bool is_get = operation.opcode == operation::get;
  const bool is_atomic = operation.opcode == operation::atomic;
  const bool is_eager_put = operation.opcode == operation::put && operation.bytes <= put_bytes_max(dev);
  net::header header{.id = operation.sending.id,
                     .sequence = operation.transfer.atomic.code,
                     .note = operation_pool::note_of(ticket),
                     .tag = operation.tag};
  const auto put_bytes = static_cast<std::uint32_t>(is_eager_put ? sizeof(put_body) + operation.bytes : 0);
  const std::uint32_t packet = is_eager_put ? pack_put(dev, operation, ticket) : packet_pool::none;
  const atomic_body atomic{operation.transfer.region, operation.transfer.region_offset,
                           operation.transfer.atomic.operand, operation.transfer.atomic.compare, ticket};
  const put_rts_body rts{operation.transfer.region, operation.transfer.region_offset, operation.bytes, ticket};
  const std::uint64_t bytes = operation.bytes;
  const bool is_done_when_sent = operation.sending.done_when_sent;
  operation.copying.chosen_at = 0;  // there is no choice
  completion* const local = operation.owed.target;
  net::post_result result = net::post_result::full;
  if (is_eager_put && packet == packet_pool::none) {
    if (operation.error != errc::none) return attempt::finished;
    reason = shortage::packets;
  } else {
    if (is_done_when_sent) operation.owed.target = nullptr;
    if (!is_get) awaited::begin(dev, operation);
    const step waits = is_get ? step::wait_for_chunks : step::wait_for_answer;
    result = send_and_wait(dev, operation, waits, step::ask, [&] {
      if (is_atomic) {
        header.kind = asking_word(wire::atomic, dev.index());
        return dev.routes().try_send_body(peer, device, header, atomic);
      }
      if (is_eager_put) {
        header.kind = asking_word(wire::put, dev.index());
        return dev.routes().endpoint_to(peer).try_send(peer, device, header, packet, put_bytes);
      }
      header.kind = asking_word(is_get ? wire::get : wire::put_rts, dev.index());
      return dev.routes().try_send_body(peer, device, header, rts);
    });
    if (is_eager_put && result == net::post_result::ok) dev.counts().went(path::one_packet, operation::put, bytes);
    if (is_eager_put && result != net::post_result::ok) dev.memory().packets().put(packet);
    reason = shortage_of(result);
  }
  if (result == net::post_result::ok) {
    if (is_done_when_sent) promise::cancel(*local);
    return attempt::waiting;
  }
  operation.owed.target = local;
  operation.next.store(step::ask, std::memory_order_relaxed);  // [own] still
  return attempt::stuck;
}

// Called in the backlog: true once this device has nothing more to do for the operation.
bool go_on(device_state& dev, operation_state& operation, attempt answer) noexcept {
  if (answer == attempt::stuck) return false;
  if (answer == attempt::waiting) return true;
  operation.reach(step::try_signal);
  return complete::try_signal(dev, operation);
}

}  // namespace weft::core::one_sided_origin
