// Messages that a transport has accepted and can't deliver: the operation of such a message fails, and so does every
// further message to that rank. A message that arrives never runs this code.
#include "core/protocol/lost_message.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/complete.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/error.hpp"

namespace weft::core {

status unless_cut_off(device_state& dev, operation opcode, std::uint32_t peer, status answer) {
  if (answer.is_retry() && dev.runtime().peers().is_cut_off(peer)) [[unlikely]]
    dev.runtime().peers().refuse_if_cut_off(fmt::format("a post ({})", name_of(opcode)), peer);
  return answer;
}

bool end_if_cut_off(device_state& dev, operation_state& operation) noexcept {
  if (!dev.runtime().peers().is_cut_off(operation.peer)) return false;
  operation.error = errc::transport_failed;
  operation.reach(step::signal);
  return true;
}

}  // namespace weft::core

namespace weft::core {

void device_state::on_lost(std::uint32_t peer, const net::header& header, const char* cause) noexcept {
  // A lost notice (send_budget.hpp) harms no operation; often the peer has just ended.
  const bool is_missed = kind_of(header.kind) != wire::budget_notice;
  runtime_->peers().cut_off(peer, cause, is_missed ? base::log_level::error : base::log_level::debug);
  operation_state* const operation = header.note == 0 ? nullptr : runtime_->operations().claim(header.note, peer);
  if (operation == nullptr) return;
  operation->error = errc::transport_failed;
  if (!complete::try_signal(*this, *operation)) defer(*operation);
}

}  // namespace weft::core
