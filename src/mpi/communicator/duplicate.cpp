// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/duplicate.hpp"

#include <memory>
#include <utility>

#include "mpi/collective/call.hpp"
#include "mpi/communicator/agree.hpp"
#include "mpi/communicator/make.hpp"
#include "mpi/error/error.hpp"
#include "mpi/info/hints.hpp"
#include "mpi/message/post.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/rank/raise.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// Null: no hints, at all members. Each member has an info of its own, so all have to be asked.
agreement proposal_of(rank_state& rank, const communicator& comm, const communicator_hints* hints) {
  agreement out = proposal(rank, comm, hints != nullptr ? hints->matching() : matching_kind::in_order);
  if (hints != nullptr && comm.rank == 0 && hints->vci <= rank.vcis.count()) out.vci = hints->vci;
  return out;
}

collective agreeing(agreement& mine, const communicator_hints* hints) noexcept {
  return hints != nullptr ? vote_on(mine) : broadcast_of(mine);
}

communicator& make_copy(rank_state& rank, communicator& comm, const agreement& all, const communicator_hints* hints,
                        communicator_memory memory) {
  agreed_communicator agreed{.context = all.context, .local = comm.local, .matching = all.matching};
  if (all.vci != 0) agreed.vci = all.vci - 1;
  if (comm.route.streams != nullptr) {
    agreed.streams = comm.route.streams;
    agreed.stream = &interface_of(rank, comm.route.streams->own().front());
  }
  communicator& out = make_communicator(rank, comm, agreed, std::move(memory));
  out.topology = comm.topology;
  if (hints != nullptr) out.hints.set(*hints);
  return out;
}

// The part of MPI_Comm_idup's request: the call that completes the request makes the communicator. It has attributes
// and error handler of the time of MPI_Comm_idup (MPI 5.0, 7.4.2).
class pending_copy final : public request_part {
 public:
  pending_copy(const communicator& comm, const agreement& proposed, const communicator_hints* hints) noexcept
      : agreed{proposed}, error_handler_{comm.error_handler}, hints_{hints != nullptr ? *hints : communicator_hints{}} {
    memory_.set_pending(error_handler_);
  }

  [[nodiscard]] MPI_Comm handle() const noexcept { return memory_.handle(); }
  int copy_attributes_of(rank_state& rank, communicator& comm) noexcept {
    return rank.attributes.communicator_keys.copy(comm.attributes, handle_of(rank, comm), attributes_, handle());
  }
  void complete(rank_state& rank, request& req, outcome& result) noexcept override {
    if (result.error != MPI_SUCCESS) return;
    result.error = guarded([&] {
      communicator& made = make_copy(rank, req.comm(), agreed, &hints_, std::move(memory_));
      const MPI_Errhandler handler = error_handler_.acquire();
      made.error_handler.set(handler);
      release_error_handler(handler);
      made.attributes = std::move(attributes_);
      return MPI_SUCCESS;
    });
  }

  agreement agreed;

 private:
  communicator_memory memory_;
  error_handler_slot error_handler_;
  communicator_hints hints_;
  attribute_list<MPI_Comm> attributes_;
};

int duplicate_as(rank_state& rank, communicator& comm, const communicator_hints* hints, MPI_Comm* out) {
  agreement all = proposal_of(rank, comm, hints);
  agreeing(all, hints).run(comm.members);
  communicator& made = make_copy(rank, comm, all, hints, {});
  const int error = copy_attributes(rank, comm, made);
  *out = error == MPI_SUCCESS ? handle_of(rank, made) : MPI_COMM_NULL;
  if (error != MPI_SUCCESS) made.remove_reference();
  return error;
}

int start_duplicate_as(rank_state& rank, communicator& comm, const communicator_hints* hints, MPI_Comm* out,
                       MPI_Request* handle) {
  auto copy = std::make_unique<pending_copy>(comm, proposal_of(rank, comm, hints), hints);
  const int failed_copy = copy->copy_attributes_of(rank, comm);
  request& req = rank.requests.acquire(&comm, request_operation::collective);
  pending_copy& kept = *copy;
  req.owned = copy.release();
  *out = kept.handle();
  const int error = begin(rank, req, handle, [&] {
    static_cast<void>(agreeing(kept.agreed, hints).post(comm.members, rank.signals, options_of_start, &req));
    return MPI_SUCCESS;
  });
  if (failed_copy == MPI_SUCCESS) return error;
  // The others need this member to agree: a request that the program does not get, which makes no communicator.
  if (error == MPI_SUCCESS) rank.requests.release_when_done(req);
  *out = MPI_COMM_NULL;
  *handle = MPI_REQUEST_NULL;
  return failed_copy;
}

}  // namespace

int duplicate(rank_state& rank, communicator& comm, MPI_Comm* out) noexcept {
  return guarded([&] { return duplicate_as(rank, comm, nullptr, out); });
}

int start_duplicate(rank_state& rank, communicator& comm, MPI_Comm* out, MPI_Request* handle) noexcept {
  return guarded([&] { return start_duplicate_as(rank, comm, nullptr, out, handle); });
}

int duplicate_with_info(rank_state& rank, communicator& comm, const info* given, MPI_Comm* out) noexcept {
  return guarded([&] {
    const communicator_hints hints = read_hints(given);
    return duplicate_as(rank, comm, &hints, out);
  });
}

int start_duplicate_with_info(rank_state& rank, communicator& comm, const info* given, MPI_Comm* out,
                              MPI_Request* handle) noexcept {
  return guarded([&] {
    const communicator_hints hints = read_hints(given);
    return start_duplicate_as(rank, comm, &hints, out, handle);
  });
}

int set_error_handler_also_pending(MPI_Comm handle, communicator* comm, MPI_Errhandler to) noexcept {
  if (comm != nullptr) {
    for (communicator* const each : comm->route.lanes) {
      if (each != comm) static_cast<void>(set_error_handler(*each, to));
    }
    return set_error_handler(*comm, to);
  }
  error_handler_slot* const pending = find_pending(handle);
  if (pending == nullptr) return fail(MPI_ERR_COMM, "it is no communicator");
  pending->set(to);
  return MPI_SUCCESS;
}

int set_hints(communicator& comm, const info* given) noexcept {
  return guarded([&] {
    comm.hints.set(read_hints(given, comm.hints.get()));
    return MPI_SUCCESS;
  });
}

int get_hints(const communicator& comm, MPI_Info* made) noexcept {
  communicator_hints hints = comm.hints.get();
  hints.vci = static_cast<std::uint8_t>(comm.route.vci + 1);
  return report_hints(hints, made);
}

}  // namespace weft::mpi
