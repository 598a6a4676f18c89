// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/other_mpi.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "weft-run/needed_libraries.hpp"
#include "weft-run/processes.hpp"

namespace weft::run {
namespace {

constexpr std::chrono::milliseconds interval_max{2000};
constexpr std::size_t processes_max = 32;  // looked at each time
constexpr std::string_view standard_abi = "libmpi_abi.so";

std::string_view file_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// libmpi.so.40, libmpich.so.12, libmpi_cxx.so.40, libmpifort.so.12, but not libmpiP.so, which profiles any of them.
bool is_mpi_library(std::string_view path) {
  constexpr std::string_view begin = "libmpi";
  std::string_view name = file_name(path);
  if (!name.starts_with(begin)) return false;
  name.remove_prefix(begin.size());
  const std::string_view middle = name.substr(0, name.find(".so"));
  return middle.size() != name.size() &&
         (middle.empty() || middle.starts_with('_') || middle.starts_with("ch") || middle == "cxx" || middle == "fort");
}

std::string text_of(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

std::vector<std::string> mapped_mpi_libraries(pid_t process) {
  std::vector<std::string> out;
  std::istringstream maps{text_of(fmt::format("/proc/{}/maps", process))};
  for (std::string line; std::getline(maps, line);) {
    const std::size_t slash = line.find('/');
    if (slash == line.npos || !is_mpi_library(line)) continue;
    std::string path = line.substr(slash);
    if (std::ranges::find(out, path) == out.end()) out.push_back(std::move(path));
  }
  return out;
}

std::string rank_of(pid_t process) {
  constexpr std::string_view name = "PMI_RANK=";
  const std::string variables = text_of(fmt::format("/proc/{}/environ", process));
  for (std::string_view rest = variables; !rest.empty();) {
    const std::string_view each = rest.substr(0, rest.find('\0'));
    if (each.starts_with(name)) return std::string{each.substr(name.size())};
    rest.remove_prefix(std::min(each.size() + 1, rest.size()));
  }
  return {};
}

// Where the program's file is found, as far as weft-run can tell.
std::string file_of(const program& program) {
  const std::string& name = program.command.front();
  const std::string base = program.folder.empty() ? std::string{} : program.folder + "/";
  if (name.find('/') != name.npos) return name.front() == '/' ? name : base + name;
  const char* const variable = std::getenv("PATH");
  const std::string path = fmt::format("{}:{}", program.path, variable != nullptr ? variable : "/bin:/usr/bin");
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    if (folder.empty()) continue;
    std::string file = fmt::format("{}{}/{}", folder.front() == '/' ? "" : base, folder, name);
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return {};
}

}  // namespace

// Weft's own is no other; its texts name it.
std::optional<other_mpi::use> other_mpi::find_in(pid_t process) {
  std::string rank = rank_of(process);  // first: a process that ends meanwhile has neither
  for (const std::string& each : mapped_mpi_libraries(process)) {
    if (!has_text(each, "Weft's MPI")) return use{rank.empty() ? rank_of(process) : std::move(rank), each};
  }
  return std::nullopt;
}

void other_mpi::look(pid_t ancestor) {
  if (!look_at_ || clock::now() < *look_at_) return;
  for (const pid_t each : listed_descendants_of(ancestor, processes_max)) {
    found_ = find_in(each);
    if (found_) return look_at_.reset();
  }
  interval_ = std::min(interval_ + interval_ / 4 + std::chrono::milliseconds{1}, interval_max);
  look_at_ = clock::now() + interval_;
}

void other_mpi::stop() noexcept {
  look_at_.reset();
  is_over_ = true;
}

std::optional<std::string> other_mpi::take_line(const program& ended, std::uint32_t rank) {
  if (is_over_) return std::nullopt;
  if (!found_ || found_->rank.empty()) {
    // Which library of the standard ABI the loader has found for the program, Weft's or another one, its file can't
    // say.
    for (const std::string& each : needed_libraries(file_of(ended))) {
      if (!is_mpi_library(each) || each.starts_with(standard_abi)) continue;
      found_ = use{fmt::format("{}", rank), found_ ? found_->library : each};
      break;
    }
  }
  if (!found_) return std::nullopt;
  stop();
  const bool is_standard = file_name(found_->library).starts_with(standard_abi);
  return fmt::format(
      "{} uses another MPI library ({}), and no rank has joined this job: each rank is a job of its own; {}",
      found_->rank.empty() ? "a rank" : "rank " + found_->rank, found_->library,
      is_standard ? "weft-run --mpi runs it with Weft's"
                  : "start it with the launcher of that library, or compile it with weft-mpicc");
}

}  // namespace weft::run
