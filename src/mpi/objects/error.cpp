#include "mpi/objects/error.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// Of the function that the calling thread runs, which notes a reason and raises the error without a wait between.
struct failure_note {
  std::array<char, 600> text{};
  communicator* in = nullptr;
};
thread_local failure_note note;  // of the thread

}  // namespace

int fail(int error_class, const char* format, ...) noexcept {
  std::va_list values;
  va_start(values, format);
  std::vsnprintf(note.text.data(), note.text.size(), format, values);
  va_end(values);
  return error_class;
}

int fail_in(communicator& of, int error_class) noexcept {
  note.in = &of;
  return error_class;
}

int fail_unsupported() noexcept {
  return fail(MPI_ERR_UNSUPPORTED_OPERATION, "Weft's MPI does not have this function");
}

int fail_outside() noexcept { return fail(MPI_ERR_OTHER, "it is called before MPI_Init or after MPI_Finalize"); }

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

void end_job(int exit_code) noexcept {
  std::fflush(nullptr);
  std::_Exit((exit_code & 0xff) != 0 ? exit_code & 0xff : 1);
}

int raise(rank_state& rank, communicator* of, int error, const char* function) noexcept {
  communicator* const in = std::exchange(note.in, nullptr);
  communicator& owner = of != nullptr ? *of : in != nullptr ? *in : rank.self;
  if (owner.error_handler == MPI_ERRORS_RETURN) {
    note.text[0] = '\0';
    return error;
  }
  const class_text known = text_of(error);
  std::fprintf(stderr, "%s of rank %u in %s: %s: %s\n", function, owner.rank, owner.name.c_str(), known.name,
               note.text[0] != '\0' ? note.text.data() : known.meaning);
  end_job(error);
}

int raise_outside(const char* function, int error) noexcept {
  std::fprintf(stderr, "%s: %s: %s\n", function, text_of(error).name, note.text.data());
  end_job(error);
}

}  // namespace weft::mpi
