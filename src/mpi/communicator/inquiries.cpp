// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/inquiries.hpp"

#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/group/inquiries.hpp"
#include "mpi/group/process_group.hpp"
#include "mpi/handle/copy_name.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

int refuse_remote() noexcept { return fail(MPI_ERR_COMM, "an intracommunicator has no remote group"); }

}  // namespace

int free_communicator(rank_state& rank, MPI_Comm* handle) noexcept {
  communicator* const comm = find_communicator(rank, *handle);
  if (comm == nullptr) return fail(MPI_ERR_COMM, "it is no communicator");
  if (is_predefined(*handle)) return fail_in(*comm, fail(MPI_ERR_COMM, "a predefined communicator may not be freed"));
  if (const int error = delete_attributes(rank, *comm); error != MPI_SUCCESS) return fail_in(*comm, error);
  comm->kind = object_kind::freed;
  *handle = MPI_COMM_NULL;
  for (communicator* const each : comm->route.lanes) {
    if (each != comm) each->remove_reference();
  }
  comm->remove_reference();
  rank.requests.release_done();
  rank.communicators.destroy_ended();
  return MPI_SUCCESS;
}

int get_group(const communicator& comm, MPI_Group* out) noexcept {
  return guarded([&] {
    *out = new_handle(comm.local);
    return MPI_SUCCESS;
  });
}

int get_remote_group(const communicator& comm, MPI_Group* out) noexcept {
  if (comm.remote == nullptr) return refuse_remote();
  return guarded([&] {
    *out = new_handle(comm.remote);
    return MPI_SUCCESS;
  });
}

int get_remote_size(const communicator& comm, int* out) noexcept {
  if (comm.remote == nullptr) return refuse_remote();
  *out = static_cast<int>(comm.remote->size());
  return MPI_SUCCESS;
}

bool is_inter(const communicator& comm) noexcept { return comm.remote != nullptr; }

int compare_communicators(const communicator& a, const communicator& b, int* out) noexcept {
  if (&a == &b) {
    *out = MPI_IDENT;
  } else {
    const int groups = compare(*a.local, *b.local);
    *out = groups == MPI_IDENT ? MPI_CONGRUENT : groups;
  }
  return MPI_SUCCESS;
}

int set_name(communicator& comm, const char* name) noexcept {
  return guarded([&] {
    std::string text{name, ::strnlen(name, MPI_MAX_OBJECT_NAME - 1)};
    set_name_of(comm, std::move(text));
    return MPI_SUCCESS;
  });
}

int get_name(MPI_Comm handle, const communicator* comm, char* name, int* length) noexcept {
  if (handle == MPI_COMM_NULL) return copy_name("MPI_COMM_NULL", name, length);
  if (comm == nullptr) return fail(MPI_ERR_COMM, "it is no communicator");
  return guarded([&] { return copy_name(given_name_of(*comm), name, length); });
}

}  // namespace weft::mpi
