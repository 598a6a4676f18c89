// SPDX-License-Identifier: BSD-3-Clause
// A fiber enters the requests that it waits for, is suspended until they wake it, and leaves the others.
#include "mpi/message/wait_for.hpp"

#include <cstdint>
#include <thread>

#include "mpi/objects/request_waiter.hpp"
#include "mpi/rank/progress.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

enum class entry : std::uint8_t {
  entered,
  ended,    // it is done, or is about to be
  refused,  // no fiber can wait for it, or another one does
};

entry enter(request& req, request_waiter& waiter) noexcept {
  if (req.is_done()) return entry::ended;
  waiter.ends.add();
  if (req.waiter.try_enter(waiter)) return entry::entered;
  waiter.ends.drop();
  return req.waiter.has_ended() ? entry::ended : entry::refused;
}

void yield_until(const auto& is_so) noexcept {
  while (!is_so()) std::this_thread::yield();
}

// Waits for the requests that `visit` shows, one after the other, until it is answered false.
template <class Visit>
bool wait_as_fiber(rank_state& rank, bool until_first, const char* function, const Visit& visit) noexcept {
  if (fresh_slot() == weft::detail::never_awaited) return false;
  request_waiter me{until_first};
  // A scheduler makes progress on the default device, and so on all VCIs or on that one, but on no stream.
  if (!ends_everywhere(rank) || !me.event.can_suspend(rank.device)) return false;
  bool is_over = false;
  bool is_refused = false;
  visit([&](request& req) {
    const entry found = enter(req, me);
    is_refused = found == entry::refused;
    if (found == entry::ended) {
      yield_until([&] { return req.is_done(); });
      is_over = until_first || req.result.error != MPI_SUCCESS;
    }
    return !is_refused && !is_over;
  });
  const bool waits = !is_refused && !is_over;
  if (waits && !me.ends.close()) me.event.wait(function, rank.device);
  visit([&](request& req) {
    if (req.waiter.try_leave(me)) me.ends.drop();
    return true;
  });
  yield_until([&] { return me.ends.is_empty(waits); });  // threads that have taken it are about to note it
  return !is_refused;
}

}  // namespace

bool wait_as_fiber(rank_state& rank, request& req, const char* function) noexcept {
  return wait_as_fiber(rank, false, function, [&](const auto& each) { each(req); });
}

bool wait_as_fiber(rank_state& rank, std::span<const MPI_Request> all, bool until_first,
                   const char* function) noexcept {
  return wait_as_fiber(rank, until_first, function, [&](const auto& each) {
    for (const MPI_Request handle : all) {
      request* const req = handle == MPI_REQUEST_NULL ? nullptr : find_request(handle);
      if (req != nullptr && req->is_active && !each(*req)) return;
    }
  });
}

}  // namespace weft::mpi
