// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank/names_in_reports.hpp"

#include "mpi/objects/context_ids.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {
namespace {

// Calls `visit(const communicator&)` for that of this engine, if there is one.
template <class Visit>
void visit_communicator(const rank_state& rank, std::uint32_t context, const Visit& visit) {
  if (context == context_of_world) {
    visit(rank.world);
  } else if (context == context_of_self) {
    visit(rank.self);
  } else {
    rank.communicators.visit(context, visit);
  }
}

}  // namespace

names_in_reports::names_in_reports(rank_state& rank) : rank_{rank} {
  weft::detail::use_report_names(rank_.runtime, this);
}
names_in_reports::~names_in_reports() { weft::detail::use_report_names(rank_.runtime, nullptr); }

std::string names_in_reports::communicator(std::uint32_t id) const {
  std::string out;
  if (id == context_of_agreements) return "the making of a communicator";
  visit_communicator(rank_, id, [&](const mpi::communicator& found) { out = name_of(found); });
  return out;
}

std::uint32_t names_in_reports::id_of_world() const noexcept { return context_of_world; }

std::uint32_t names_in_reports::member(std::uint32_t id, std::uint32_t rank) const {
  std::uint32_t out = rank;
  visit_communicator(rank_, id,
                     [&](const mpi::communicator& found) { out = static_cast<std::uint32_t>(found.member(rank)); });
  return out;
}

const char* names_in_reports::function(collective_operation which) const noexcept {
  switch (which) {
    case collective_operation::barrier: return "MPI_Barrier";
    case collective_operation::broadcast: return "MPI_Bcast";
    case collective_operation::reduce: return "MPI_Reduce";
    case collective_operation::allreduce: return "MPI_Allreduce";
    case collective_operation::gather: return "MPI_Gather";
    case collective_operation::scatter: return "MPI_Scatter";
    case collective_operation::allgather: return "MPI_Allgather";
    case collective_operation::alltoall: return "MPI_Alltoall";
    case collective_operation::reduce_scatter: return "MPI_Reduce_scatter";
    case collective_operation::scan: return "MPI_Scan";
    case collective_operation::exscan: return "MPI_Exscan";
  }
  return "a collective";
}

}  // namespace weft::mpi
