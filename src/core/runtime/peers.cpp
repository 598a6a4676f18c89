#include "core/runtime/peers.hpp"

#include <fmt/format.h>

#include "weft/error.hpp"

namespace weft::core {

peers::peers(std::uint32_t rank_count)
    : awaited_{std::make_unique<std::atomic<std::uint32_t>[]>(rank_count)},
      failed_{std::make_unique<std::atomic<std::uint32_t>[]>(rank_count)},
      cut_off_{std::make_unique<std::atomic<const char*>[]>(rank_count)} {}

bool peers::try_flush(std::uint32_t peer) {
  // [flush.wait] acquire <- [flush.through]: all awaited operations are complete.
  const bool is_through = awaited_[peer].load(std::memory_order_acquire) == 0;
  refuse_if_cut_off("flush", peer);
  if (!is_through) return false;
  // [flush.failures] relaxed: after [flush.wait], which shows what comes before the end of each operation.
  if (const std::uint32_t failures = failed_[peer].exchange(0, std::memory_order_relaxed); failures != 0) {
    throw error{errc::region_refused,
                fmt::format("flush: rank {} refused {} puts or atomics that had answered done: their region was "
                            "withdrawn, or did not reach that far",
                            peer, failures)};
  }
  return true;
}

void peers::cut_off(std::uint32_t peer, const char* cause, base::log_level level) noexcept {
  const char* none = nullptr;
  // [peer.cut_off] release -> [peer.is_cut_off], [peer.cause]: the text of the cause.
  if (cut_off_[peer].compare_exchange_strong(none, cause, std::memory_order_release, std::memory_order_relaxed)) {
    base::log(level, "messages to rank {} can't be sent any more, and some that were under way are lost: {}", peer,
              cause);
  }
}

void peers::refuse_if_cut_off(std::string_view call, std::uint32_t peer) const {
  // [peer.cause] acquire <- [peer.cut_off]: the text.
  const char* const cause = cut_off_[peer].load(std::memory_order_acquire);
  if (cause == nullptr) return;
  throw error{errc::transport_failed,
              fmt::format("{}: messages to rank {} can't be sent any more: {}", call, peer, cause)};
}

}  // namespace weft::core
