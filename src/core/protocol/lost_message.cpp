// What a transport took and can't deliver after all: the operation that it belongs to ends with an error, and so does
// whatever else is to be sent there. Nothing here is on the way of a message that arrives.
#include "core/protocol/lost_message.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/complete.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {

void runtime_state::cut_off(std::uint32_t peer, const char* cause, base::log_level level) noexcept {
  const char* none = nullptr;
  // [peer.cut_off] release -> [peer.is_cut_off], [peer.cause]: the text of the cause.
  if (cut_off_[peer].compare_exchange_strong(none, cause, std::memory_order_release, std::memory_order_relaxed)) {
    base::log(level, "messages to rank {} can't be sent any more, and some that were under way are lost: {}", peer,
              cause);
  }
}

void runtime_state::refuse_if_cut_off(std::string_view call, std::uint32_t peer) const {
  // [peer.cause] acquire <- [peer.cut_off]: the text.
  const char* const cause = cut_off_[peer].load(std::memory_order_acquire);
  if (cause == nullptr) return;
  throw error{errc::transport_failed,
              fmt::format("{}: messages to rank {} can't be sent any more: {}", call, peer, cause)};
}

operation_state* runtime_state::claim(std::uint32_t note, std::uint32_t peer) noexcept {
  const std::size_t set = operation_pool::set_of(note);
  return set < operation_sets ? sets_[set].claim(note, peer) : nullptr;
}

status unless_cut_off(device_state& dev, operation what, std::uint32_t peer, status answer) {
  if (answer.is_retry() && dev.runtime().is_cut_off(peer)) [[unlikely]]
    dev.runtime().refuse_if_cut_off(fmt::format("a post ({})", name_of(what)), peer);
  return answer;
}

bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept {
  if (!dev.runtime().is_cut_off(operation.peer)) return false;
  operation.error = errc::transport_failed;
  operation.reach(step::signal);
  return true;
}

}  // namespace weft::core

namespace weft::core {

void device_state::on_lost(std::uint32_t peer, const net::header& what, const char* cause) noexcept {
  // A lost notice of the budget harms no operation; often the peer has just ended.
  const bool is_missed = kind_of(what.kind) != wire::wants_rts;
  runtime_->cut_off(peer, cause, is_missed ? base::log_level::error : base::log_level::debug);
  operation_state* const operation = what.note == 0 ? nullptr : runtime_->claim(what.note, peer);
  if (operation == nullptr) return;
  operation->error = errc::transport_failed;
  if (!complete::try_signal(*this, *operation)) defer(*operation);
}

}  // namespace weft::core
