// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/tool/tool_interface.hpp"

#include <algorithm>
#include <new>

namespace weft::mpi {

int tool_interface::init(int required, int* provided) noexcept {
  if (provided == nullptr) return MPI_T_ERR_INVALID;
  const std::lock_guard locked{mutex_};
  ++uses_;
  *provided = std::clamp(required, MPI_THREAD_SINGLE, MPI_THREAD_MULTIPLE);
  return MPI_SUCCESS;
}

int tool_interface::finalize() noexcept {
  const std::lock_guard locked{mutex_};
  if (uses_ == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (--uses_ == 0) sessions_.clear();
  return MPI_SUCCESS;
}

int tool_interface::get_number(int* number) noexcept {
  const int code = refuse(number != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID);
  if (code == MPI_SUCCESS) *number = 0;
  return code;
}

tool_interface::list::iterator tool_interface::find(MPI_T_pvar_session wanted) noexcept {
  return std::ranges::find_if(
      sessions_, [wanted](const auto& each) { return reinterpret_cast<MPI_T_pvar_session>(each.get()) == wanted; });
}

int tool_interface::create_session(MPI_T_pvar_session* made) noexcept {
  const std::lock_guard locked{mutex_};
  if (uses_ == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (made == nullptr) return MPI_T_ERR_INVALID;
  try {
    sessions_.push_back(std::make_unique<session_object>());
  } catch (const std::bad_alloc&) {
    return MPI_T_ERR_MEMORY;
  }
  *made = reinterpret_cast<MPI_T_pvar_session>(sessions_.back().get());
  return MPI_SUCCESS;
}

int tool_interface::free_session(MPI_T_pvar_session* freed) noexcept {
  const std::lock_guard locked{mutex_};
  if (uses_ == 0) return MPI_T_ERR_NOT_INITIALIZED;
  if (freed == nullptr) return MPI_T_ERR_INVALID;
  const auto found = find(*freed);
  if (found == sessions_.end()) return MPI_T_ERR_INVALID_SESSION;
  sessions_.erase(found);
  *freed = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int tool_interface::refuse(int code) noexcept {
  const std::lock_guard locked{mutex_};
  return uses_ == 0 ? MPI_T_ERR_NOT_INITIALIZED : code;
}

int tool_interface::refuse(MPI_T_pvar_session session, int code) noexcept {
  const std::lock_guard locked{mutex_};
  if (uses_ == 0) return MPI_T_ERR_NOT_INITIALIZED;
  return find(session) == sessions_.end() ? MPI_T_ERR_INVALID_SESSION : code;
}

}  // namespace weft::mpi
