// SPDX-License-Identifier: BSD-3-Clause
// Collectives with requests.
#include <memory>
#include <optional>

#include "mpi/collective/call.hpp"
#include "mpi/message/post.hpp"
#include "mpi/objects/request.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/group.hpp"

namespace weft::mpi {
namespace {

// The part of a request that is not persistent.
class started_collective final : public request_part {
 public:
  explicit started_collective(collective_parts&& parts) noexcept : parts_{std::move(parts)} {}

 private:
  collective_parts parts_;
};

// Members may start their persistent requests in different orders (MPI 5.0, 6.13), but make them in one. So each has a
// group of its own, in which its starts are numbered.
class persistent_part final : public request_part {
 public:
  persistent_part(const collective& kept, communicator& comm, collective_parts&& parts)
      : parts_{std::move(parts)}, members_{comm.members.dup()}, runs_{kept.keep(members_, options_of_start)} {}

  int start(rank_state& rank, request& req) override {
    static_cast<void>(runs_.start(rank.signals, &req));
    return MPI_SUCCESS;
  }

 private:
  collective_parts parts_;  // outlives the runs
  weft::group members_;
  persistent_collective runs_;
};

int keep(const collective_call& call, const collective& operation, collective_parts&& parts) {
  auto kept = std::make_unique<persistent_part>(operation, call.comm, std::move(parts));
  request& req = call.rank->requests.acquire(&call.comm, request_operation::collective);
  req.owned = kept.release();
  req.is_persistent = true;
  req.is_active = false;
  req.finish(outcome{});
  *call.request = handle_of(req);
  return MPI_SUCCESS;
}

}  // namespace

int start(const collective_call& call, const collective& operation, collective_parts&& parts) {
  if (call.is_persistent) return keep(call, operation, std::move(parts));
  rank_state& rank = *call.rank;
  std::unique_ptr<started_collective> kept;
  if (!parts.are_none()) kept = std::make_unique<started_collective>(std::move(parts));
  request& req = rank.requests.acquire(&call.comm, request_operation::collective);
  req.owned = kept.release();
  return begin(rank, req, call.request, [&] {
    static_cast<void>(operation.post(call.comm.members, rank.signals, options_of_start, &req));
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
