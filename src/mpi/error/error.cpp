// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/error.hpp"

#include <cstdarg>
#include <cstdio>
#include <utility>

#include "mpi/error/error_classes.hpp"

namespace weft::mpi {
namespace {

thread_local failure_note note;  // a note of the thread

}  // namespace

int fail(int error_class, const char* format, ...) noexcept {
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(note.text.data(), note.text.size(), format, values);
  va_end(values);
  return error_class;
}

int fail_in(error_owner& owner, int error_class) noexcept {
  note.owner = &owner;
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

int fail_in_callback() noexcept {
  return fail(MPI_ERR_OTHER,
              "it may have to wait, and is called inside a hook, a handler or another function that progress calls");
}
int fail_by(const weft::error& thrown) noexcept { return fail(class_of(thrown.code()), "%s", thrown.what()); }

failure_note take_failure() noexcept { return std::exchange(note, {}); }

}  // namespace weft::mpi
