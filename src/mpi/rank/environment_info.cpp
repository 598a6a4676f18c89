// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank/environment_info.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "mpi/error/error.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// The arguments of this process, as the system has them.
std::vector<std::string> arguments_of_process() {
  std::ifstream file{"/proc/self/cmdline", std::ios::binary};
  const std::string all{std::istreambuf_iterator<char>{file}, {}};
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin < all.size(); begin += out.back().size() + 1) out.emplace_back(&all[begin]);
  return out;
}

// The launcher gives the number. The job itself is not known before MPI_Init and after MPI_Finalize. Ranks that are
// threads know it by their runtime.
std::string number_of_processes() {
  if (const weft::runtime* const given = current_slot().given) return std::to_string(given->size());
  const auto has = [](const char* name) { return std::getenv(name) != nullptr; };
  const char* const boot = std::getenv("WEFT_BOOT");
  const std::string_view kind = boot != nullptr ? boot : "";
  const bool is_by_file = kind == "file" || has("WEFT_BOOT_DIR"), is_by_pmi = has("PMI_FD");
  if (kind == "single" || (!is_by_file && !is_by_pmi)) return "1";
  const char* const size = std::getenv(is_by_file ? "WEFT_SIZE" : "PMI_SIZE");
  return size != nullptr ? size : "1";
}

}  // namespace

void add_environment(info& to, int argc, const char* const* argv) {
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
  add("maxprocs", number_of_processes());
  std::array<char, PATH_MAX> text{};
  if (gethostname(text.data(), text.size() - 1) == 0) add("host", text.data());
  utsname system{};
  if (uname(&system) == 0) add("arch", system.machine);
  if (getcwd(text.data(), text.size()) != nullptr) add("wdir", text.data());
}

info* environment_info::get() noexcept {
  const std::lock_guard locked{mutex_};
  if (made_ != nullptr) return made_.get();
  const int error = guarded([&] {
    auto made = std::make_unique<info>();
    const std::vector<std::string> arguments = arguments_of_process();
    std::vector<const char*> argv;
    for (const std::string& each : arguments) argv.push_back(each.c_str());
    add_environment(*made, static_cast<int>(argv.size()), argv.data());
    made_ = std::move(made);
    return MPI_SUCCESS;
  });
  return error == MPI_SUCCESS ? made_.get() : nullptr;
}

}  // namespace weft::mpi
