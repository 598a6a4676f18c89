// SPDX-License-Identifier: BSD-3-Clause
// Start and end of a rank, and functions that may be called at any time.
#pragma once

#include "mpi.h"

namespace weft::mpi {

class info;
struct communicator;
struct rank_state;

int init(const char* function, int required, int* provided);  // **Errors**: what an error handler throws
/// **Errors**: what an error handler, or a callback of an attribute of MPI_COMM_SELF, throws. The rank has ended then,
/// as if the function had returned an error.
int finalize();
int is_initialized(int* flag) noexcept;
int is_finalized(int* flag) noexcept;
[[noreturn]] int abort(rank_state& rank, const communicator* comm, int code) noexcept;

int query_thread(const rank_state& rank, int* provided) noexcept;
int is_thread_main(const rank_state& rank, int* flag) noexcept;

/// MPI_Alloc_mem and MPI_Free_mem. `address` is where the address is written to.
int allocate(MPI_Aint bytes, const info* hints, void* address) noexcept;
int release(void* address) noexcept;

/// MPI_Info_create_env, at any time. `argv` may be null.
int create_environment_info(int argc, const char* const* argv, MPI_Info* made) noexcept;

/// The kinds of hardware, with "true" if the process runs on one such resource alone (MPI 5.0, 9.1.2).
int get_hardware_info(MPI_Info* made) noexcept;

int get_version(int* version, int* subversion) noexcept;
int get_abi_version(int* version, int* subversion) noexcept;
int get_abi_info(MPI_Info* made) noexcept;
int get_library_version(char* text, int* length) noexcept;
int get_processor_name(char* name, int* length) noexcept;

}  // namespace weft::mpi
