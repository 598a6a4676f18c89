// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/mpi_library.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/error.hpp"

namespace weft::run {
namespace {

constexpr std::string_view name = "libmpi_abi.so.1";

// Beside weft-run: in an installation, or in the tree of a build.
std::filesystem::path find_library() {
  const std::filesystem::path programs = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const char* const folder : {WEFT_LIBRARIES_FROM_PROGRAMS, "../lib"}) {
    std::error_code missing;
    const std::filesystem::path found = std::filesystem::canonical(programs / folder, missing) / name;
    if (!missing && std::filesystem::exists(found)) return found;
  }
  throw error{errc::configuration,
              fmt::format("--mpi: there is no {} in {}: Weft was built without its MPI library", name,
                          (programs / WEFT_LIBRARIES_FROM_PROGRAMS).lexically_normal().string())};
}

}  // namespace

void preload_mpi(options& chosen) {
  constexpr std::string_view variable = "LD_PRELOAD=";
  const std::string library = find_library().string();
  if (library.find_first_of(" :") != library.npos) {
    throw error{errc::configuration,
                fmt::format("--mpi: the loader can't preload {}, whose path has a space or a colon", library)};
  }
  // Preloaded by the user: a tool that interposes MPI's functions has to stay first.
  std::string others;
  if (const char* const own = std::getenv("LD_PRELOAD")) others = own;
  for (const std::string& each : chosen.environment) {
    if (each.starts_with(variable)) others = each.substr(variable.size());
  }
  chosen.environment.push_back(fmt::format("{}{}{}{}", variable, others, others.empty() ? "" : ":", library));
}

}  // namespace weft::run
