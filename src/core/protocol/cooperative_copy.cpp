// A long message that receiver and sender copy together (shared_copy.hpp): the receiver proposes a share, reads pieces
// and looks when all is there; the sender, if it has time, writes pieces.
#include "core/protocol/cooperative_copy.hpp"

#include <algorithm>

#include "core/device/device_state.hpp"
#include "core/message/message_body.hpp"
#include "core/message/shared_copy.hpp"
#include "core/protocol/arrive.hpp"
#include "core/protocol/rendezvous.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::cooperative_copy {

namespace {

// Below, the message that proposes it costs more than the sender's help is worth.
constexpr std::uint64_t shared_bytes_min = 2 * copy_share::piece_bytes_min;

// Pieces copied in one call of progress: some tens of microseconds.
constexpr unsigned pieces_per_call = 8;

// What the sender has to write from; null where there is nothing (any more): it comes too late, and the operation may
// be another one by now.
operation_state* find_shared(device_state& dev, std::uint64_t ticket, std::uint32_t peer, std::uint64_t bytes,
                             bool& is_wrong) noexcept {
  operation_state* const found = dev.runtime().operations().posts().find(ticket, peer, step::wait_for_answer);
  is_wrong = found != nullptr &&
             (!rendezvous::has_bytes_to_send(*found) || found->bytes != bytes || found->source.address() == nullptr);
  return is_wrong ? nullptr : found;
}

}  // namespace

// False: there is nothing to share it by; nothing has happened.
bool begin(device_state& dev, operation_state& operation) noexcept {
  if (operation.bytes < shared_bytes_min || operation.bytes > copy_share::bytes_max || operation.into.is_list() ||
      operation.alone || operation.moved.load(std::memory_order_relaxed) != 0) {  // [own] the fetching device's alone
    return false;
  }
  copy_shares& shares = dev.runtime().shares();
  // A rank of which nothing is mapped here sees nothing of this one's either; and oneself needs no help.
  if (shares.at(operation.peer, 0) == nullptr || operation.peer == dev.runtime().rank()) return false;
  const std::uint32_t index = shares.try_open();
  if (index == copy_shares::none) return false;
  copy_share& share = *shares.at(dev.runtime().rank(), index);
  const std::uint32_t number = shares.number(index);
  const share_body body{operation.remote_ticket, reinterpret_cast<std::uint64_t>(operation.into.address()),
                        operation.bytes, index, number};
  const net::header what{.kind = static_cast<std::uint32_t>(wire::share)};
  if (dev.inject(operation.peer, operation.device, what, body) != net::post_result::ok) {
    shares.close(share);
    return false;
  }
  operation.share = &share;
  operation.share_number = number;
  return true;
}

// The receiver copies its pieces, then waits for the pieces that the sender has claimed.
bool fetch(device_state& dev, operation_state& operation) noexcept {
  copy_share& share = *operation.share;
  for (unsigned i = 0; i < pieces_per_call; ++i) {
    const shared_piece piece = share.claim(operation.share_number, operation.bytes);
    if (piece.bytes == 0) break;
    const net::copy_result result =
        dev.endpoint_to(operation.peer)
            .read_remote(operation.peer, operation.into.address() + piece.offset,
                         operation.remote_address + piece.offset, static_cast<std::size_t>(piece.bytes));
    if (result == net::copy_result::bad_address) operation.error = errc::transport_failed;
    if (result == net::copy_result::peer_gone) operation.error = errc::peer_failed;
    share.finish(piece, result == net::copy_result::done);
    operation.moved.fetch_add(piece.bytes, std::memory_order_relaxed);  // [own] the fetching device's alone
  }
  if (!share.is_through(operation.bytes)) return false;
  const bool is_copied = share.is_whole();
  operation.alone = !is_copied && operation.error == errc::none;
  if (is_copied) {
    const std::uint64_t own = operation.moved.load(std::memory_order_relaxed);  // [own] the fetching device's alone
    dev.counts().went(own == operation.bytes ? path::copied : path::copied_by_both, operation.what, operation.bytes);
  }
  operation.share = nullptr;
  dev.runtime().shares().close(share);
  if (!operation.alone) return rendezvous::send_fin(dev, operation);
  operation.moved.store(0, std::memory_order_relaxed);  // [own] begins again: the sender could not copy, or neither can
  return false;
}

// The sender is asked to help. Its own operation waits for its answer meanwhile, so another one does it.
bool on_request(device_state& dev, const net::arrival& message) noexcept {
  share_body body;
  if (!read_body(message, body) || body.share >= copy_shares::count) return arrivals::refuse(dev, message);
  copy_share* const share = dev.runtime().shares().at(message.source, body.share);
  bool is_wrong = false;
  const bool is_there = find_shared(dev, body.ticket, message.source, body.bytes, is_wrong) != nullptr;
  if (is_wrong) return arrivals::refuse(dev, message);
  operation_state* const help =
      is_there && share != nullptr ? dev.runtime().operations().arrivals().try_get() : nullptr;
  if (help == nullptr) return true;
  help->peer = message.source;
  help->remote_ticket = body.ticket;
  help->remote_address = body.address;
  help->bytes = body.bytes;
  help->share = share;
  help->share_number = body.number;
  dev.defer(*help, step::share);
  return true;
}

// A piece that is claimed is written in the same call: the receiver waits for it, and who knows when this thread makes
// progress again. While it is in hand, the operation that it is of is certain to wait for its answer.
bool write(device_state& dev, operation_state& help) noexcept {
  for (unsigned i = 0; i < pieces_per_call; ++i) {
    bool is_wrong = false;
    const operation_state* const from = find_shared(dev, help.remote_ticket, help.peer, help.bytes, is_wrong);
    const std::byte* const source = from != nullptr ? from->source.address() : nullptr;
    const shared_piece piece = source != nullptr ? help.share->claim(help.share_number, help.bytes) : shared_piece{};
    bool copied = false;
    if (piece.bytes != 0) {
      copied =
          dev.endpoint_to(help.peer).write_remote(help.peer, source + piece.offset, help.remote_address + piece.offset,
                                                  static_cast<std::size_t>(piece.bytes)) == net::copy_result::done;
      help.share->finish(piece, copied);
    }
    if (copied) continue;
    help.share = nullptr;
    dev.runtime().put_back(help);
    return true;
  }
  return false;
}

}  // namespace weft::core::cooperative_copy
