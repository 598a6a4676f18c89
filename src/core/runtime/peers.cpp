// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/peers.hpp"

#include <fmt/format.h>

#include "weft/error.hpp"

namespace weft::core {

peers::peers(std::uint32_t rank_count)
    : flushes_{rank_count},
      failed_{std::make_unique<std::atomic<std::uint32_t>[]>(rank_count)},
      cut_off_{std::make_unique<std::atomic<const char*>[]>(rank_count)},
      ends_{std::make_unique<std::atomic<end>[]>(rank_count)},
      closed_{std::make_unique<std::atomic<bool>[]>(rank_count)},
      settled_{std::make_unique<std::atomic<bool>[]>(rank_count)} {}

bool peers::try_flush(const flush_request& request, detail::flush_mark& since) {
  const std::uint32_t peer = request.peer;
  if (!since.is_set) since = flushes_.mark(request);
  const bool is_through = flushes_.is_through(request, since);
  // A rank that has ended in order may have taken everything before.
  const bool ended_in_order = end_of(peer) == end::in_order;
  if (!is_through || !ended_in_order) refuse_if_cut_off("flush", peer);
  if (!is_through) return false;
  // [flush.failures] relaxed: after [flush.wait], which shows what comes before the end of each operation.
  if (const std::uint32_t failures = failed_[peer].exchange(0, std::memory_order_relaxed); failures != 0) {
    if (ended_in_order) refuse_if_cut_off("flush", peer);
    throw error{errc::region_refused,
                fmt::format("flush: rank {} refused {} puts or atomics that had answered done: their region was "
                            "withdrawn, or did not reach that far",
                            peer, failures)};
  }
  since = {};
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

void peers::note_end(std::uint32_t peer, bool in_order) noexcept {
  // [peer.note_end] relaxed -> [peer.end_of]: most threads look after [peer.is_cut_off].
  ends_[peer].store(in_order ? end::in_order : end::died, std::memory_order_relaxed);
  cut_off(peer, in_order ? "it has ended, and destroyed its runtime" : "its process has ended in the middle",
          in_order ? base::log_level::debug : base::log_level::error);
}

void peers::refuse_if_cut_off(std::string_view call, std::uint32_t peer) const {
  // [peer.cause] acquire <- [peer.cut_off]: the text.
  const char* const cause = cut_off_[peer].load(std::memory_order_acquire);
  if (cause == nullptr) return;
  throw error{error_with(peer), fmt::format("{}: messages to rank {} can't be sent any more: {}", call, peer, cause)};
}

}  // namespace weft::core
