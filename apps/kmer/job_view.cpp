// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/job_view.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace weft_kmer {

namespace {

std::string link_target(const char* path) {
  std::array<char, PATH_MAX> target;
  const ssize_t bytes = ::readlink(path, target.data(), target.size());
  return bytes < 0 ? std::string{} : std::string(target.data(), static_cast<std::size_t>(bytes));
}

std::string folder() {
  std::error_code problem;
  const std::filesystem::path path = std::filesystem::current_path(problem);
  return problem ? "a folder that is gone" : path.string();
}

bool is_standard_input(const std::string& path) {
  const std::array<const char*, 4> names{"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "/proc/thread-self/fd/0"};
  return path == "-" || std::find(names.begin(), names.end(), path) != names.end();
}

std::string describe(const job_view::file& file) {
  if (file.kind == file_kind::stream) return "a pipe or a device";
  const char* compressed = file.kind == file_kind::bgzip ? " in bgzip" : file.kind == file_kind::gzip ? " in gzip" : "";
  return std::string{"a file of "} + std::to_string(file.bytes) + " bytes, " +
         (file.format == text_format::fasta ? "FASTA" : "FASTQ") + compressed;
}

// How the file of rank 0 differs from this rank's; empty: not at all.
std::string difference(const job_view::file& first, const job_view::file& mine, const file_tree& there,
                       const file_tree& here, const std::string& rank) {
  if (describe(first) != describe(mine)) return "rank 0 finds " + describe(first) + ", " + rank + ' ' + describe(mine);
  const bool same_machine = !here.machine.empty() && here.machine == there.machine;
  const bool same_file = first.device == mine.device && first.inode == mine.inode;
  if (first.kind == file_kind::stream) {
    if (!same_machine) return rank + " is on another machine than rank 0, which alone would read this pipe or device";
    return same_file ? "" : rank + " finds another pipe or device than rank 0";
  }
  // Copies on several machines are well, links to one file as well. On one machine a copy is mostly a mistake, and the
  // sample can't tell it from a file that differs in few places.
  if (same_machine && here.mounts == there.mounts) return same_file ? "" : rank + " finds another file than rank 0";
  return first.sample == mine.sample ? ""
                                     : "the file of " + rank + " is as long as that of rank 0, but has other content";
}

}  // namespace

file_tree find_file_tree() {
  file_tree out;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> out.machine;
  out.mounts = link_target("/proc/self/ns/mnt");
  return out;
}

job_view view_of(const count_options& options, const std::vector<input_file>& files) {
  const auto flag = [](bool is_given, const char* name) { return std::string{is_given ? "" : "no "} + name; };
  job_view out;
  out.where = find_file_tree();
  out.options = {"-k " + std::to_string(options.k),
                 flag(options.strand, "--strand"),
                 flag(options.exact, "--exact"),
                 "--min-count " + std::to_string(options.count_min),
                 flag(!options.counts_path.empty(), "--counts"),
                 flag(!options.histogram_path.empty(), "--histogram"),
                 std::to_string(options.inputs.size()) + " inputs"};
  if (files.size() != options.inputs.size()) return out;
  out.files.emplace();
  for (const input_file& file : files) {
    const std::uint64_t sample = file.kind == file_kind::stream ? 0 : sample_of(file);
    out.files->push_back({file.kind, file.format, file.bytes, file.device, file.inode, sample});
  }
  return out;
}

std::string to_text(const job_view& view) {
  std::ostringstream text;
  text << view.where.machine << '\n' << view.where.mounts << '\n' << view.options.size() << '\n';
  for (const std::string& option : view.options) text << option << '\n';
  text << view.files.has_value() << ' ' << (view.files ? view.files->size() : 0) << '\n';
  if (!view.files) return text.str();
  for (const job_view::file& file : *view.files) {
    text << static_cast<unsigned>(file.kind) << ' ' << static_cast<unsigned>(file.format) << ' ' << file.bytes << ' '
         << file.device << ' ' << file.inode << ' ' << file.sample << '\n';
  }
  return text.str();
}

job_view view_in(const std::string& text) {
  job_view out;
  std::istringstream in{text};
  std::string line;
  std::getline(in, out.where.machine);
  std::getline(in, out.where.mounts);
  std::getline(in, line);
  for (auto count = std::stoull(line); count > 0 && std::getline(in, line); --count) out.options.push_back(line);
  bool has_files = false;
  std::size_t count = 0;
  in >> has_files >> count;
  if (!has_files) return out;
  out.files.emplace(count);
  for (job_view::file& file : *out.files) {
    unsigned kind = 0;
    unsigned format = 0;
    in >> kind >> format >> file.bytes >> file.device >> file.inode >> file.sample;
    file.kind = static_cast<file_kind>(kind);
    file.format = static_cast<text_format>(format);
  }
  return out;
}

std::string difference_from(const job_view& rank_0, const job_view& mine, unsigned rank,
                            const std::vector<std::string>& inputs) {
  const std::string self = "rank " + std::to_string(rank);
  for (std::size_t i = 0; i < mine.options.size() && i < rank_0.options.size(); ++i) {
    if (rank_0.options[i] == mine.options[i]) continue;
    return "all ranks need the same options and inputs, but rank 0 has " + rank_0.options[i] + ", and " + self +
           " has " + mine.options[i];
  }
  // Where rank 0 can't read a file, it says so itself.
  if (!rank_0.files || !mine.files) return {};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string found = difference((*rank_0.files)[i], (*mine.files)[i], rank_0.where, mine.where, self);
    if (found.empty()) continue;
    return describe_error(
        inputs[i], found + (is_standard_input(inputs[i])
                                ? ": launchers give standard input to rank 0 alone: give all ranks a file's name"
                                : ": all ranks need the same file: give it by its whole path (" + self + " is in " +
                                      folder() + "), and let nothing write to it"));
  }
  return {};
}

}  // namespace weft_kmer
