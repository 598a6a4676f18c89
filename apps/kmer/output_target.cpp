// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/output_target.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "kmer/input_error.hpp"

namespace weft_kmer {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw job_error{path + ": cannot be written: " + std::strerror(error)};
}

// Whether `folder` is one in which the system shows the open files of a process.
bool is_descriptor_folder(const fs::path& folder) {
  const std::string text = folder.string();
  return text.rfind("/proc/", 0) == 0 && folder.filename() == "fd";
}

// The number that `name` is there; -1 where the process is another one.
int own_descriptor(const fs::path& folder, const fs::path& name) {
  const std::string own = "/proc/" + std::to_string(::getpid()) + '/';
  if (folder.string().rfind(own, 0) != 0) return -1;
  const std::string digits = name.string();
  int number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::optional<struct stat> status_of(const output_target& target) {
  struct stat status {};
  const int result =
      target.descriptor >= 0 ? ::fstat(target.descriptor, &status) : ::stat(target.path.c_str(), &status);
  return result == 0 ? std::optional{status} : std::nullopt;
}

bool are_same(const struct stat& a, const struct stat& b) noexcept {
  // A terminal or /dev/null may be both; what is written there takes nothing away.
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && !S_ISCHR(a.st_mode) && !S_ISSOCK(a.st_mode);
}

}  // namespace

output_target find_output_target(const std::string& path) {
  constexpr int links_max = 40;
  fs::path at = path;
  for (int links = 0; links <= links_max; ++links) {
    std::error_code problem;
    if (!at.has_filename() || at.filename() == "." || at.filename() == "..") at = fs::canonical(at, problem);
    if (problem) fail(path, problem.value());
    const fs::path folder = fs::canonical(at.has_parent_path() ? at.parent_path() : fs::path{"."}, problem);
    if (problem) fail(path, problem.value());
    const fs::path whole = folder / at.filename();
    // The link there would lead to a file; but what is open already, and perhaps written to, is not to be replaced.
    if (is_descriptor_folder(folder)) return {whole.string(), true, own_descriptor(folder, at.filename())};
    struct stat status {};
    if (::lstat(whole.c_str(), &status) != 0) {
      if (errno != ENOENT) fail(path, errno);
      return {whole.string()};
    }
    if (!S_ISLNK(status.st_mode)) return {whole.string(), !S_ISREG(status.st_mode)};
    const fs::path leads_to = fs::read_symlink(whole, problem);
    if (problem) fail(path, problem.value());
    at = folder / leads_to;
  }
  fail(path, ELOOP);
}

void check_outputs(const count_options& options, const std::vector<input_file>& inputs, unsigned rank) {
  struct output {
    const char* option;
    const std::string& name;
    output_target target = {};
    std::optional<struct stat> status = {};
  };
  const std::string none;
  std::array outputs{output{"--counts", options.counts_path},
                     output{"--histogram", rank == 0 ? options.histogram_path : none}};
  for (output& each : outputs) {
    if (each.name.empty()) continue;
    each.target = find_output_target(each.name);
    each.status = status_of(each.target);
    if (!each.status) continue;
    for (const input_file& input : inputs) {
      struct stat status {};
      if (!find_status(input.path, status) || !are_same(*each.status, status)) continue;
      throw job_error{describe_error(each.name, std::string{"is the input "} + input.path + ": " + each.option +
                                                    " needs a file of its own, or its reads would be lost")};
    }
  }
  const auto& [counts, histogram] = outputs;
  if (counts.name.empty() || histogram.name.empty()) return;
  const bool both_there = counts.status && histogram.status;
  if (counts.target.path == histogram.target.path || (both_there && are_same(*counts.status, *histogram.status))) {
    throw job_error{
        describe_error(counts.name, "--counts and --histogram (" + histogram.name + ") name the same file")};
  }
}

}  // namespace weft_kmer
