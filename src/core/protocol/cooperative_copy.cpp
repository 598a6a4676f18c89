// SPDX-License-Identifier: BSD-3-Clause
// A long message that receiver and sender copy together (shared_copy.hpp): the receiver opens a copy state, invites
// the sender, reads pieces and checks whether all are copied; the sender, if it has time, writes pieces.
#include "core/protocol/cooperative_copy.hpp"

#include <algorithm>

#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/message/shared_copy.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/complete.hpp"
#include "core/protocol/direct_copy.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::cooperative_copy {

namespace {

// Below this size, the invitation costs more than the sender's help saves; unless other pieces are set.
constexpr std::uint64_t shared_bytes_min(std::uint32_t asked_pages) noexcept {
  return 2 * (asked_pages != 0 ? std::uint64_t{asked_pages} * copy_state::page_bytes : copy_state::piece_bytes_min);
}

// Pieces copied in one call of progress: some tens of microseconds.
constexpr unsigned pieces_per_call = 8;

// The sender's operation, whose buffer is written from; null if it has completed already: the invitation came too late,
// and the ticket may belong to another operation by now.
operation_state* find_source(device_state& dev, std::uint64_t ticket, std::uint32_t peer, std::uint64_t bytes,
                             bool& is_wrong) noexcept {
  operation_state* const found = dev.operations().posts().find(ticket, peer, step::wait_for_answer);
  is_wrong = found != nullptr && (!rendezvous::has_bytes_to_send(*found) || found->bytes != bytes ||
                                  announced(found->sending.source).address == 0);
  return is_wrong ? nullptr : found;
}

}  // namespace

// False: no copy state is free, or the copy is not worth it; nothing has happened.
bool begin(device_state& dev, operation_state& operation) noexcept {
  const announced_memory into = announced(operation.receiving.into, shared_piece_bytes_min);
  const std::uint8_t asked_pages = operation.copying.chosen.asked_pages;
  if (operation.bytes < shared_bytes_min(asked_pages) || !copy_state::can_copy(operation.bytes, asked_pages) ||
      into.address == 0 || operation.copying.is_alone || operation.copying.chosen.method == copy_method::one_side ||
      operation.copying.moved.load(std::memory_order_relaxed) != 0) {  // [own] the fetching device
    return false;
  }
  copy_states& states = dev.memory().copy_states();
  // If the sender's memory is not mapped here, the sender has not mapped this rank's either. A rank needs no help from
  // itself.
  if (states.state_at(operation.peer, 0) == nullptr || operation.peer == dev.routes().own_rank()) return false;
  const std::uint32_t index = states.try_open();
  if (index == copy_states::none) return false;
  copy_state& copy = *states.state_at(dev.routes().own_rank(), index);
  const std::uint32_t number = states.number(index);
  const copy_invitation_body body{
      operation.copying.remote_ticket, into.address, operation.bytes, index, number, into.pieces, asked_pages};
  const net::header header{.kind = static_cast<std::uint32_t>(wire::copy_invitation)};
  if (dev.routes().try_send_body(operation.peer, operation.device, header, body) != net::post_result::ok) {
    states.close(copy);
    return false;
  }
  operation.copying.state = &copy;
  operation.copying.number = number;
  return true;
}

// The receiver copies its pieces, then waits for the pieces that the sender has claimed.
bool fetch(device_state& dev, operation_state& operation) noexcept {
  copy_state& copy = *operation.copying.state;
  for (unsigned i = 0; i < pieces_per_call; ++i) {
    const shared_piece piece =
        copy.claim(operation.copying.number, operation.bytes, operation.copying.chosen.asked_pages);
    if (piece.bytes == 0) break;
    const net::copy_result result =
        direct_copy::read(dev, operation, operation.receiving.into, piece.offset, piece.bytes);
    if (result == net::copy_result::bad_address) operation.error = errc::transport_failed;
    if (result == net::copy_result::peer_gone) operation.error = errc::peer_failed;
    copy.finish(piece, result == net::copy_result::done);
    operation.copying.moved.fetch_add(piece.bytes, std::memory_order_relaxed);  // [own] the fetching device's alone
  }
  const bool is_through = copy.is_through(operation.bytes);
  if (!is_through) {
    // A sender that has ended finishes no piece, and writes none any more.
    if (!dev.runtime().peers().has_ended(operation.peer)) return false;
    operation.error = errc::peer_failed;
  }
  const bool is_copied = is_through && copy.is_whole();
  operation.copying.is_alone = !is_copied && operation.error == errc::none;
  if (is_copied) {
    const std::uint64_t own =
        operation.copying.moved.load(std::memory_order_relaxed);  // [own] the fetching device's alone
    dev.counts().went(own == operation.bytes ? path::copied : path::copied_by_both, operation.opcode, operation.bytes);
  }
  operation.copying.state = nullptr;
  dev.memory().copy_states().close(copy);
  if (!operation.copying.is_alone) {
    dev.memory().copy_choices().end(operation);
    return rendezvous::send_fin(dev, operation);
  }
  operation.copying.moved.store(0, std::memory_order_relaxed);  // [own] begins again: one of the two could not copy
  return false;
}

// The sender is invited to help. Its own operation waits for its answer meanwhile, so another operation does the steps.
bool on_copy_invitation(device_state& dev, const net::arrival& message) noexcept {
  copy_invitation_body body;
  if (!read_body(message, body) || body.index >= copy_states::count) return arrive::reject(dev, message);
  copy_state* const copy = dev.memory().copy_states().state_at(message.source, body.index);
  bool is_wrong = false;
  const bool is_there = find_source(dev, body.ticket, message.source, body.bytes, is_wrong) != nullptr;
  if (is_wrong) return arrive::reject(dev, message);
  operation_state* const help = is_there && copy != nullptr ? dev.operations().arrivals().try_get() : nullptr;
  if (help == nullptr) return true;
  help->peer = message.source;
  help->copying.remote_ticket = body.ticket;
  help->copying.begin(body.address, body.pieces);
  help->bytes = body.bytes;
  help->copying.state = copy;
  help->copying.number = body.number;
  help->copying.chosen.asked_pages = static_cast<std::uint8_t>(body.asked_pages);
  dev.defer(*help, step::write_pieces);
  return true;
}

// A claimed piece is written in the same call: the receiver waits for it, and this thread may not make progress again
// soon. Until the piece is finished, the sender's operation can't complete: so its fields are read only then, and its
// buffer stays valid. If the receiver has ended, a thread may be ending that operation: nothing more is claimed.
bool write_pieces(device_state& dev, operation_state& help) noexcept {
  const bool has_ended = dev.runtime().peers().has_ended(help.peer);
  for (unsigned i = 0; i < pieces_per_call; ++i) {
    const shared_piece piece =
        has_ended ? shared_piece{}
                  : help.copying.state->claim(help.copying.number, help.bytes, help.copying.chosen.asked_pages);
    bool copied = false;
    if (piece.bytes != 0) {
      bool is_wrong = false;
      const operation_state* const from = find_source(dev, help.copying.remote_ticket, help.peer, help.bytes, is_wrong);
      copied = from != nullptr &&
               direct_copy::write(dev, help, from->sending.source, piece.offset, piece.bytes) == net::copy_result::done;
      help.copying.state->finish(piece, copied);
    }
    if (copied) continue;
    help.copying.state = nullptr;
    complete::put_back(dev, help);
    return true;
  }
  return false;
}

}  // namespace weft::core::cooperative_copy
