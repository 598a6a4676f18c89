// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/info/environment_info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <fstream>
#include <iterator>
#include <string>

#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// The arguments of this process, as the system has them.
std::vector<std::string> arguments_of_process() {
  std::ifstream in{"/proc/self/cmdline", std::ios::binary};
  const std::string all{std::istreambuf_iterator<char>{in}, {}};
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < all.size(); begin += out.back().size() + 1) out.emplace_back(&all[begin]);
  return out;
}

}  // namespace

void add_environment(info& to, const rank_state* rank, int argc, const char* const* argv) {
  // A longer value could not be a value of MPI.
  const auto add = [&to](const char* key, const std::string& value) {
    if (value.size() < MPI_MAX_INFO_VAL) to.set(key, value);
  };
  if (argc > 0 && argv != nullptr && argv[0] != nullptr) {
    add("command", argv[0]);
    std::string rest;
    for (int each = 1; each < argc && argv[each] != nullptr; ++each)
      rest.append(each > 1 ? " " : "").append(argv[each]);
    if (argc > 1) add("argv", rest);
  }
  if (rank != nullptr) add("maxprocs", std::to_string(rank->runtime.size()));
  std::array<char, PATH_MAX> text{};
  if (gethostname(text.data(), text.size() - 1) == 0) add("host", text.data());
  utsname system{};
  if (uname(&system) == 0) add("arch", system.machine);
  if (getcwd(text.data(), text.size()) != nullptr) add("wdir", text.data());
}

info* environment_info::get(const rank_state& rank) noexcept {
  const std::lock_guard locked{mutex_};
  if (made_ != nullptr) return made_.get();
  const int error = guarded([&] {
    auto made = std::make_unique<info>();
    const std::vector<std::string> arguments = arguments_of_process();
    std::vector<const char*> argv;
    for (const std::string& each : arguments) argv.push_back(each.c_str());
    add_environment(*made, &rank, static_cast<int>(argv.size()), argv.data());
    made_ = std::move(made);
    return MPI_SUCCESS;
  });
  return error == MPI_SUCCESS ? made_.get() : nullptr;
}

}  // namespace weft::mpi
