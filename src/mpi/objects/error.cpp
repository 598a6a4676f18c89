// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/error.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>

#include "mpi/objects/job_end.hpp"
#include "mpi/objects/program_call.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// The failure of the function that the calling thread runs. It notes a reason and raises the error without a wait
// between.
struct failure_note {
  std::array<char, 600> text{};
  communicator* comm = nullptr;
  int request_error = MPI_SUCCESS;  // the class of a request's error
};
thread_local failure_note note;  // a note of the thread

// If another process has ended, its launcher or that process has said why, and the launcher ends this one. If it
// does not, the first rank to wait long enough says that there was an end.
void wait_for_launcher(std::uint32_t rank) noexcept {
  std::this_thread::sleep_for(std::chrono::milliseconds{700 + 100 * (rank % 16)});
}

// One line, and the end: of rank, function, communicator and reason, which is the code's text where none is noted.
// `comm`: null if the error is of none.
[[noreturn]] void end_by(const rank_state& rank, const communicator* comm, int code, const char* function,
                         const char* reason) noexcept {
  if (code == MPI_ERR_PROC_ABORTED) wait_for_launcher(rank.world.rank);
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  if (current_slot().codes.copy_text(code, text.data(), &length) != MPI_SUCCESS)
    std::snprintf(text.data(), text.size(), "error code %d", code);
  const bool has_reason = reason[0] != '\0' && is_predefined_class(code);
  end_job(code, "%s of rank %u%s%s: %s%s%s", function, rank.world.rank, comm != nullptr ? " in " : "",
          comm != nullptr ? comm->name.c_str() : "", has_reason ? text_of(code).name : text.data(),
          has_reason ? ": " : "", has_reason ? reason : "");
}

int fail_file() noexcept { return fail(MPI_ERR_FILE, "it is no file"); }

template <class Handle>
Handle handle_of_none() noexcept {
  if constexpr (std::is_same_v<Handle, MPI_Comm>) return MPI_COMM_NULL;
  if constexpr (std::is_same_v<Handle, MPI_File>) return MPI_FILE_NULL;
  if constexpr (std::is_same_v<Handle, MPI_Session>) return MPI_SESSION_NULL;
}

// `handle`: of an object whose handler it is. The function may throw, or leave by longjmp, so the reference goes first.
template <class Handle>
void call_users(const error_handler& users, MPI_Errhandler reference, Handle handle, int code) {
  using function = void(Handle*, int*, ...);
  function* const called = std::get<function*>(users.function);
  release_error_handler(reference);
  called(&handle, &code);
}

}  // namespace

int fail(int error_class, const char* format, ...) noexcept {
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(note.text.data(), note.text.size(), format, values);
  va_end(values);
  return error_class;
}

int fail_in(communicator& comm, int error_class) noexcept {
  note.comm = &comm;
  note.request_error = error_class;
  return error_class;
}

int fail_unsupported() noexcept {
  return fail(MPI_ERR_UNSUPPORTED_OPERATION, "Weft's MPI does not have this function");
}

int fail_outside() noexcept { return fail(MPI_ERR_OTHER, "it is called before MPI_Init or after MPI_Finalize"); }

int fail_by_exception() noexcept {
  try {
    throw;
  } catch (const weft::error& thrown) {
    return fail_by(thrown);
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory");
  } catch (const std::exception& thrown) {
    return fail(MPI_ERR_INTERN, "%s", thrown.what());
  } catch (...) {
    return fail(MPI_ERR_INTERN, "an exception of unknown type");
  }
}

int fail_by(const weft::error& thrown) noexcept { return fail(class_of(thrown.code()), "%s", thrown.what()); }

int class_of(weft::errc code) noexcept {
  switch (code) {
    case errc::none: return MPI_SUCCESS;
    case errc::truncated: return MPI_ERR_TRUNCATE;
    case errc::peer_failed: return MPI_ERR_PROC_ABORTED;
    case errc::out_of_memory: return MPI_ERR_NO_MEM;
    case errc::invalid_argument: return MPI_ERR_ARG;
    default: return MPI_ERR_OTHER;
  }
}

int raise(rank_state& rank, communicator* comm, int error, const char* function) {
  const failure_note noted = std::exchange(note, {});  // the user's function may fail in others
  if (error == program_has_thrown) throw_kept_exception();
  communicator* const known = comm != nullptr ? comm : noted.comm;
  communicator& owner = known != nullptr ? *known : rank.self;
  const int code = error == MPI_ERR_IN_STATUS && noted.comm != nullptr ? noted.request_error : error;
  const MPI_Errhandler handler = owner.error_handler.acquire();
  if (const error_handler* const users = find_error_handler(handler)) {
    call_users(*users, handler, handle_of(rank, owner), code);
  } else if (handler != MPI_ERRORS_RETURN) {
    end_by(rank, known, code, function, noted.text.data());
  }
  return error;
}

int raise_of_files(rank_state& rank, int error, const char* function) {
  const failure_note noted = std::exchange(note, {});
  const MPI_Errhandler handler = rank.error_handler_of_files.acquire();
  if (const error_handler* const users = find_error_handler(handler)) {
    call_users(*users, handler, MPI_FILE_NULL, error);
  } else if (handler != MPI_ERRORS_RETURN) {
    end_by(rank, nullptr, error, function, noted.text.data());
  }
  return error;
}

int raise_by(MPI_Errhandler handler, int error, const char* function) {
  if (const error_handler* const users = find_error_handler(handler)) {
    note = {};
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
  end_job(error, "%s: %s: %s", function, text_of(error).name, note.text.data());
}

int raise_anywhere(rank_state* rank, int error, const char* function) {
  return rank != nullptr ? raise(*rank, nullptr, error, function) : raise_outside(function, error);
}

int set_error_handler(communicator& comm, MPI_Errhandler handler) noexcept {
  comm.error_handler.set(handler);
  return MPI_SUCCESS;
}

int get_error_handler(const communicator& comm, MPI_Errhandler* handler) noexcept {
  *handler = comm.error_handler.acquire();
  return MPI_SUCCESS;
}

int call_error_handler(rank_state& rank, communicator& comm, int code) {
  static_cast<void>(raise(rank, &comm, code, "MPI_Comm_call_errhandler"));
  return MPI_SUCCESS;
}

int set_error_handler_of_files(rank_state& rank, MPI_File file, MPI_Errhandler handler) noexcept {
  if (file != MPI_FILE_NULL) return fail_file();
  rank.error_handler_of_files.set(handler);
  return MPI_SUCCESS;
}

int get_error_handler_of_files(const rank_state& rank, MPI_File file, MPI_Errhandler* handler) noexcept {
  if (file != MPI_FILE_NULL) return fail_file();
  *handler = rank.error_handler_of_files.acquire();
  return MPI_SUCCESS;
}

int call_error_handler_of_files(rank_state& rank, MPI_File file, int code) {
  if (file != MPI_FILE_NULL) return fail_file();
  static_cast<void>(raise_of_files(rank, code, "MPI_File_call_errhandler"));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
