#include "mpi/collective/failed_member.hpp"

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

// A receive that no message matches is complete if the rank that it names has ended; otherwise it is taken back.
bool has_ended(rank_state& rank, communicator& in, int member) {
  constexpr std::uint64_t tag_of_none = std::uint64_t{1} << 62;  // MPI's are ints
  request one{request_operation::receive, in};
  const accepted_status posted = rank.device.until_accepted([&] {
    return rank.device.post_recv(in.world_rank(member), buffer_ref{}, rank.signals,
                                 {.tag = tag_of_none, .engine = in.engine, .context = &one});
  });
  while (!one.is_done()) {
    static_cast<void>(rank.device.cancel(posted.ticket()));
    rank.device.progress();
  }
  return !one.result.is_cancelled;
}

}  // namespace

int class_of_failed_member(rank_state& rank, communicator& in) {
  for (std::uint32_t member = 0; member < in.size; ++member) {
    if (member != in.rank && has_ended(rank, in, static_cast<int>(member)))
      return fail(MPI_ERR_PROC_ABORTED, "the process of rank %u has ended", member);
  }
  return fail(MPI_ERR_TRUNCATE, "a message has another size than its receiver expects, at this rank or another one");
}

}  // namespace weft::mpi
