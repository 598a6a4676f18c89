// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank/raise.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <type_traits>
#include <variant>

#include "mpi/error/error.hpp"
#include "mpi/error/error_classes.hpp"
#include "mpi/error/job_end.hpp"
#include "mpi/error/program_call.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// If another process has ended, its launcher or that process has said why, and the launcher ends this one. If it
// does not, the first rank to wait long enough says that there was an end.
void wait_for_launcher(std::uint32_t rank) noexcept {
  std::this_thread::sleep_for(std::chrono::milliseconds{700 + 100 * (rank % 16)});
}

// Null: the owner is no communicator. One that the program has freed lives on for its requests.
const communicator* find_communicator(const error_owner* owner) noexcept {
  return owner == nullptr || owner->kind == object_kind::file ? nullptr : static_cast<const communicator*>(owner);
}

// Writes one line, and ends the job: the line has rank, function, communicator and reason, which is the code's text
// where none is noted. `owner`: null if the error is of no object.
[[noreturn]] void end_by(const rank_state& rank, const error_owner* owner, int code, const char* function,
                         const char* reason) noexcept {
  if (code == MPI_ERR_PROC_ABORTED) wait_for_launcher(rank.world.rank);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (current_slot().codes.copy_text(code, text.data(), &length) != MPI_SUCCESS)
    std::snprintf(text.data(), text.size(), "error code %d", code);
  const bool has_reason = reason[0] != '\0' && is_predefined_class(code);
  const communicator* const comm = find_communicator(owner);
  const std::string where = comm != nullptr ? " in " + name_of(*comm) : "";
  end_job(code, "%s of rank %u%s: %s%s%s", function, rank.world.rank, where.c_str(),
          has_reason ? text_of(code).name : text.data(), has_reason ? ": " : "", has_reason ? reason : "");
}

int fail_file() noexcept { return fail(MPI_ERR_FILE, "it is no file"); }

template <class Handle>
Handle handle_of_none() noexcept {
  if constexpr (std::is_same_v<Handle, MPI_Comm>) return MPI_COMM_NULL;
  if constexpr (std::is_same_v<Handle, MPI_File>) return MPI_FILE_NULL;
  if constexpr (std::is_same_v<Handle, MPI_Session>) return MPI_SESSION_NULL;
}

// The function may throw, or leave by longjmp, so the reference goes first.
template <class Handle>
void call_users(const error_handler& users, MPI_Errhandler reference, Handle handle, int code) {
  using function = void(Handle*, int*, ...);
  function* const called = std::get<function*>(users.function);
  release_error_handler(reference);
  called(&handle, &code);
}

// Calls the user's function with the handle of the object whose handler it is.
void call_users(const rank_state& rank, error_owner& owner, const error_handler& users, MPI_Errhandler reference,
                int code) {
  if (owner.kind == object_kind::file) return call_users(users, reference, MPI_FILE_NULL, code);
  call_users(users, reference, handle_of(rank, static_cast<communicator&>(owner)), code);
}

}  // namespace

int raise(rank_state& rank, error_owner* owner, int error, const char* function) {
  const failure_note noted = take_failure();  // the user's function may fail in others
  if (error == program_has_thrown) throw_kept_exception();
  error_owner* const known = owner != nullptr ? owner : noted.owner;
  error_owner& raised = known != nullptr ? *known : rank.self;
  const int code = error == MPI_ERR_IN_STATUS && noted.owner != nullptr ? noted.request_error : error;
  // The handler may leave the call by longjmp.
  if (rank.session.checks != nullptr) rank.session.checks->end_calls_of_thread();
  const MPI_Errhandler handler = raised.error_handler.acquire();
  if (const error_handler* const users = find_error_handler(handler)) {
    call_users(rank, raised, *users, handler, code);
  } else if (handler != MPI_ERRORS_RETURN) {
    end_by(rank, known, code, function, noted.text.data());
  }
  return error;
}

int raise_by(MPI_Errhandler handler, int error, const char* function) {
  if (const error_handler* const users = find_error_handler(handler)) {
    static_cast<void>(take_failure());
    std::visit(
        [&]<class Handle>(void (*called)(Handle*, int*, ...)) {
          Handle none = handle_of_none<Handle>();
          int code = error;
          called(&none, &code);
        },
        users->function);
  } else if (handler != MPI_ERRORS_RETURN) {
    raise_outside(function, error);
  }
  return error;
}

int raise_outside(const char* function, int error) noexcept {
  const failure_note noted = take_failure();
  end_job(error, "%s: %s: %s", function, text_of(error).name, noted.text.data());
}

int raise_anywhere(rank_state* rank, int error, const char* function) {
  return rank != nullptr ? raise(*rank, nullptr, error, function) : raise_outside(function, error);
}

int set_error_handler(error_owner& owner, MPI_Errhandler handler) noexcept {
  owner.error_handler.set(handler);
  return MPI_SUCCESS;
}

int get_error_handler(const error_owner& owner, MPI_Errhandler* handler) noexcept {
  *handler = owner.error_handler.acquire();
  return MPI_SUCCESS;
}

int call_error_handler(rank_state& rank, error_owner& owner, int code) {
  static_cast<void>(raise(rank, &owner, code, "MPI_Comm_call_errhandler"));
  return MPI_SUCCESS;
}

int set_error_handler_of_files(rank_state& rank, MPI_File file, MPI_Errhandler handler) noexcept {
  return file == MPI_FILE_NULL ? set_error_handler(rank.files, handler) : fail_file();
}

int get_error_handler_of_files(const rank_state& rank, MPI_File file, MPI_Errhandler* handler) noexcept {
  return file == MPI_FILE_NULL ? get_error_handler(rank.files, handler) : fail_file();
}

int call_error_handler_of_files(rank_state& rank, MPI_File file, int code) {
  if (file != MPI_FILE_NULL) return fail_file();
  static_cast<void>(raise(rank, &rank.files, code, "MPI_File_call_errhandler"));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
