// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/error_handler.hpp"

#include <mutex>
#include <utility>

#include "mpi/error/error.hpp"

namespace weft::mpi {
namespace {

constinit std::mutex slots_mutex;

void add_reference(MPI_Errhandler handler) noexcept {
  // [own] The caller has a reference, or the lock of a slot that has one.
  if (error_handler* const found = find_error_handler(handler))
    found->references.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

error_handler* find_error_handler(MPI_Errhandler handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<error_handler*>(handle);
  return found->kind == object_kind::error_handler ? found : nullptr;
}

bool is_error_handler(MPI_Errhandler handle) noexcept {
  return handle == MPI_ERRORS_ARE_FATAL || handle == MPI_ERRORS_ABORT || handle == MPI_ERRORS_RETURN ||
         find_error_handler(handle) != nullptr;
}

error_handler_slot::~error_handler_slot() { release_error_handler(handler_); }

void error_handler_slot::set(MPI_Errhandler handler) noexcept {
  add_reference(handler);
  {
    const std::lock_guard locked{slots_mutex};
    std::swap(handler_, handler);
  }
  release_error_handler(handler);
}

MPI_Errhandler error_handler_slot::acquire() const noexcept {
  const std::lock_guard locked{slots_mutex};
  add_reference(handler_);
  return handler_;
}

void release_error_handler(MPI_Errhandler handler) noexcept {
  error_handler* const found = find_error_handler(handler);
  // [error_handler.release] acq_rel <-> [error_handler.release]: all use of it, before the last one deletes it.
  if (found != nullptr && found->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete found;
}

int create_error_handler(handler_function function, MPI_Errhandler* handler) noexcept {
  return guarded([&] {
    *handler = reinterpret_cast<MPI_Errhandler>(new error_handler{function});
    return MPI_SUCCESS;
  });
}

// MPI_Comm_get_errhandler gives predefined handlers, too, and all that it gives is to be freed (MPI 5.0, 9.3).
int free_error_handler(MPI_Errhandler* handler) noexcept {
  if (!is_error_handler(*handler)) return fail(MPI_ERR_ERRHANDLER, "it is no error handler");
  release_error_handler(std::exchange(*handler, MPI_ERRHANDLER_NULL));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
