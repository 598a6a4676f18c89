// A long message that receiver and sender copy together (shared_copy.hpp): the receiver offers a share, reads pieces
// and looks when all is there; the sender, if it has time, writes pieces.
#include "core/shared_copy.hpp"

#include <algorithm>

#include "core/device_state.hpp"
#include "core/message_body.hpp"
#include "core/runtime_state.hpp"

namespace weft::core {
namespace {

// Below, the message that offers the share costs more than the sender's help is worth.
constexpr std::uint64_t shared_bytes_min = 2 * copy_share::piece_bytes_min;

// Pieces copied in one call of progress: some tens of microseconds.
constexpr unsigned pieces_at_once = 8;

}  // namespace

// False: there is nothing to share it by; nothing has happened.
bool device_state::begin_share(operation_state& operation) noexcept {
  if (operation.bytes < shared_bytes_min || operation.bytes > copy_share::bytes_max || operation.into.is_list() ||
      operation.alone || operation.moved.load(std::memory_order_relaxed) != 0) {  // [stat] the fetching device's alone
    return false;
  }
  copy_shares& shares = runtime_->shares();
  // A rank of which nothing is mapped here sees nothing of this one's either; and oneself needs no help.
  if (shares.at(operation.peer, 0) == nullptr || operation.peer == runtime_->rank()) return false;
  const std::uint32_t index = shares.try_open();
  if (index == copy_shares::none) return false;
  copy_share& share = *shares.at(runtime_->rank(), index);
  const std::uint32_t number = shares.number(index);
  const share_body body{operation.remote_ticket, reinterpret_cast<std::uint64_t>(operation.into.address()),
                        operation.bytes, index, number};
  const net::header what{.kind = static_cast<std::uint32_t>(wire::share)};
  if (inject(operation.peer, operation.device, what, body) != net::post_result::ok) {
    shares.close(share);
    return false;
  }
  operation.share = &share;
  operation.share_number = number;
  return true;
}

// The receiver's pieces; then it waits for those that the sender has in hand.
bool device_state::fetch_share(operation_state& operation) noexcept {
  copy_share& share = *operation.share;
  for (unsigned i = 0; i < pieces_at_once; ++i) {
    const shared_piece piece = share.claim(operation.share_number, operation.bytes);
    if (piece.bytes == 0) break;
    const net::copy_result result =
        way(operation.peer)
            .read_remote(operation.peer, operation.into.address() + piece.offset,
                         operation.remote_address + piece.offset, static_cast<std::size_t>(piece.bytes));
    if (result == net::copy_result::bad_address) operation.error = errc::transport_failed;
    if (result == net::copy_result::peer_gone) operation.error = errc::peer_failed;
    share.finish(piece, result == net::copy_result::done);
    operation.moved.fetch_add(piece.bytes, std::memory_order_relaxed);  // [stat] the fetching device's alone
  }
  if (!share.is_through(operation.bytes)) return false;
  const bool is_copied = share.is_whole();
  operation.alone = !is_copied && operation.error == errc::none;
  if (is_copied) {
    const std::uint64_t own = operation.moved.load(std::memory_order_relaxed);  // [stat] the fetching device's alone
    counts_.went(own == operation.bytes ? path::copied : path::copied_by_both, operation.what, operation.bytes);
  }
  operation.share = nullptr;
  runtime_->shares().close(share);
  if (!operation.alone) return announce(operation);
  operation.moved.store(0, std::memory_order_relaxed);  // [stat] begins again: the sender could not, or nobody can
  return false;
}

// The sender is asked to help. Where it comes too late there is nothing to claim, and the operation may be another one
// by now; with a piece in hand it is certain to wait for its answer.
bool device_state::on_share(const net::arrival& message) noexcept {
  share_body body;
  if (!read_body(message, body) || body.share >= copy_shares::count) return refuse(message);
  copy_share* const share = runtime_->shares().at(message.source, body.share);
  if (share == nullptr) return true;
  operation_state* const operation = runtime_->posts().find(body.ticket, message.source, step::wait_for_answer);
  if (operation == nullptr) return true;
  const shared_piece piece = share->claim(body.number, body.bytes);
  if (piece.bytes == 0) return true;
  if (!has_bytes_to_send(*operation) || operation->bytes != body.bytes || operation->source.address() == nullptr) {
    share->finish(piece, false);
    return refuse(message);
  }
  operation->share = share;
  operation->share_number = body.number;
  operation->piece = piece;
  operation->remote_address = body.address;
  take_up(*operation, step::share);
  return true;
}

bool device_state::write_share(operation_state& operation) noexcept {
  copy_share& share = *operation.share;
  for (unsigned i = 0; i < pieces_at_once; ++i) {
    const shared_piece piece = operation.piece;
    const net::copy_result result =
        way(operation.peer)
            .write_remote(operation.peer, operation.source.address() + piece.offset,
                          operation.remote_address + piece.offset, static_cast<std::size_t>(piece.bytes));
    const bool copied = result == net::copy_result::done;
    // The next piece before this one is told of: with none in hand, the answer may come the next moment.
    operation.piece = copied ? share.claim(operation.share_number, operation.bytes) : shared_piece{};
    if (operation.piece.bytes == 0) {
      operation.share = nullptr;
      operation.moved.store(0, std::memory_order_relaxed);  // [stat] it may still have to send packets
      operation.reach(step::wait_for_answer);
      share.finish(piece, copied);
      return true;
    }
    operation.moved.fetch_add(piece.bytes, std::memory_order_relaxed);  // [stat] this device's alone
    share.finish(piece, true);
  }
  return false;
}

}  // namespace weft::core
