// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/failed_member.hpp"

#include <chrono>
#include <optional>

#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/fiber_words.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

// Whether this rank knows that the rank of a member has ended in the middle, or that it reaches it no more.
bool is_cut_off(communicator& comm, std::uint32_t member) {
  try {
    static_cast<void>(comm.route.device.flush(comm.world_rank(static_cast<int>(member)), {.timeout = {}}));
    return false;
  } catch (const weft::error& refused) {
    return refused.code() == errc::peer_failed || refused.code() == errc::transport_failed;
  }
}

// Whether it has ended in order. A receive that no message matches is complete if the rank that it names has ended;
// otherwise it is taken back.
bool has_left(rank_state& rank, communicator& comm, std::uint32_t member) {
  constexpr std::uint64_t tag_of_none = std::uint64_t{1} << 62;  // MPI's are ints
  request req{request_operation::receive, comm};
  const accepted_status posted = comm.route.device.until_accepted([&] {
    return comm.route.device.post_recv(comm.world_rank(static_cast<int>(member)), buffer_ref{}, rank.signals,
                                       {.tag = tag_of_none, .engine = comm.engine, .context = &req});
  });
  while (!req.is_done()) {
    static_cast<void>(comm.route.device.cancel(posted.ticket()));
    comm.route.device.progress();
  }
  return !req.result.is_cancelled;
}

template <class Is>
std::optional<std::uint32_t> find_other(const communicator& comm, const Is& is) {
  for (std::uint32_t member = 0; member < comm.size; ++member) {
    if (member != comm.rank && is(member)) return member;
  }
  return std::nullopt;
}

// Another member may have noticed the end, and told this one by a message: this rank looks for ended ranks some times
// in this period, while it makes progress.
constexpr std::chrono::milliseconds notice_time{200};

std::optional<std::uint32_t> find_ended(rank_state& rank, communicator& comm) {
  std::optional<std::uint32_t> found;
  const auto has_found = [&] {
    found = find_other(comm, [&](std::uint32_t member) { return is_cut_off(comm, member); });
    return found.has_value();
  };
  if (comm.route.device.wait(rank.signals, has_found, {.timeout = notice_time})) return found;
  return find_other(comm, [&](std::uint32_t member) { return has_left(rank, comm, member); });
}

}  // namespace

int class_of_failed_member(rank_state& rank, communicator& comm) {
  if (const std::optional<std::uint32_t> ended = find_ended(rank, comm))
    return fail(MPI_ERR_PROC_ABORTED, "the process of rank %u has ended", *ended);
  return fail(
      MPI_ERR_TRUNCATE,
      "a message has another size than its receiver expects, at this rank or another one: members call different "
      "collectives, or with different counts or types; WEFT_CHECK=1 compares their calls, and names both");
}

void find_cause(rank_state& rank, request& failed) noexcept {
  int& error = failed.result.error;
  if (weft::detail::is_in_callback() || failed.owner == nullptr ||
      (error != MPI_ERR_TRUNCATE && error != MPI_ERR_PROC_ABORTED && error != MPI_ERR_OTHER))
    return;
  const int found = guarded([&] { return class_of_failed_member(rank, failed.comm()); });
  if (found == MPI_ERR_PROC_ABORTED) error = found;
}

}  // namespace weft::mpi
