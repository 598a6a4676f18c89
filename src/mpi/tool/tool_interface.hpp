// SPDX-License-Identifier: BSD-3-Clause
// The tool interface (MPI 5.0, 15.3) of a library that has no variables, categories, events and sources of events.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mpi.h"

namespace weft::mpi {

/// The tool interface of a process, whether MPI is initialized or not. **Threads**: any, concurrently. All functions
/// return an error code of MPI_T, for which no error handler is called.
class tool_interface {
 public:
  /// Each call is undone by one of `finalize`.
  int init(int required, int* provided) noexcept;
  int finalize() noexcept;

  /// How many there are of a kind: none.
  int get_number(int* number) noexcept;
  /// Refuses an index, a name, or a handle: there is none that is right.
  int refuse_index() noexcept { return refuse(MPI_T_ERR_INVALID_INDEX); }
  int refuse_name(const char* name) noexcept {
    return refuse(name != nullptr ? MPI_T_ERR_INVALID_NAME : MPI_T_ERR_INVALID);
  }
  int refuse_handle() noexcept { return refuse(MPI_T_ERR_INVALID_HANDLE); }

  int create_session(MPI_T_pvar_session* made) noexcept;
  int free_session(MPI_T_pvar_session* session) noexcept;
  /// Refuses an index in a session.
  int refuse_index(MPI_T_pvar_session session) noexcept { return refuse(session, MPI_T_ERR_INVALID_INDEX); }
  /// Refuses a handle of a session.
  int refuse_handle(MPI_T_pvar_session session) noexcept { return refuse(session, MPI_T_ERR_INVALID_HANDLE); }
  /// Accepts MPI_T_PVAR_ALL_HANDLES: the session has none, so nothing is done.
  int accept_all_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle) noexcept {
    return refuse(session, handle == MPI_T_PVAR_ALL_HANDLES ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE);
  }

 private:
  struct session_object {};
  int refuse(int code) noexcept;
  int refuse(MPI_T_pvar_session session, int code) noexcept;
  using list = std::vector<std::unique_ptr<session_object>>;
  [[nodiscard]] list::iterator find(MPI_T_pvar_session session) noexcept;

  std::mutex mutex_;  // guards all that follows
  int uses_ = 0;
  list sessions_;
};

}  // namespace weft::mpi
