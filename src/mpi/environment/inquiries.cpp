// SPDX-License-Identifier: BSD-3-Clause
// Versions, names and texts.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "mpi/environment/environment.hpp"
#include "mpi/error/error.hpp"
#include "mpi/info/info.hpp"
#include "mpi/rank/environment_info.hpp"
#include "weft/version.hpp"

namespace weft::mpi {

int get_version(int* version, int* subversion) noexcept {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

int get_abi_version(int* version, int* subversion) noexcept {
  *version = MPI_ABI_VERSION;
  *subversion = MPI_ABI_SUBVERSION;
  return MPI_SUCCESS;
}

int get_abi_info(MPI_Info* made) noexcept {
  return guarded([&] {
    auto out = std::make_unique<info>();
    out->set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
    out->set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
    out->set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
    *made = new_handle(std::move(out));
    return MPI_SUCCESS;
  });
}

int create_environment_info(int argc, const char* const* argv, MPI_Info* made) noexcept {
  return guarded([&] {
    auto out = std::make_unique<info>();
    add_environment(*out, argc, argv);
    *made = new_handle(std::move(out));
    return MPI_SUCCESS;
  });
}

int get_library_version(char* text, int* length) noexcept {
  *length = std::snprintf(text, MPI_MAX_LIBRARY_VERSION_STRING, "Weft %s, MPI %d.%d, ABI %d.%d", version_text(),
                          MPI_VERSION, MPI_SUBVERSION, MPI_ABI_VERSION, MPI_ABI_SUBVERSION);
  return MPI_SUCCESS;
}

int get_processor_name(char* name, int* length) noexcept {
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME) != 0) return fail(MPI_ERR_OTHER, "the system gives no name");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *length = static_cast<int>(std::strlen(name));
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
