// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/processor_limits.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <tuple>

#include "kmer/job_view.hpp"

namespace weft_kmer {

namespace {

std::vector<std::uint32_t> allowed_processors() {
  // The kernel refuses a set that is smaller than its own.
  for (std::size_t sets = 1; sets <= 64; sets *= 2) {
    std::vector<cpu_set_t> allowed(sets);
    if (::sched_getaffinity(0, sets * sizeof(cpu_set_t), allowed.data()) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = 0; i < sets * CPU_SETSIZE; ++i) {
      if (CPU_ISSET_S(i, sets * sizeof(cpu_set_t), allowed.data())) out.push_back(i);
    }
    return out;
  }
  std::vector<std::uint32_t> all(static_cast<std::size_t>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out;
  std::istringstream in{text};
  for (std::string part; std::getline(in, part, at);) out.push_back(part);
  return out;
}

bool has_part(const std::string& list, const char* wanted) {
  const auto parts = split(list, ',');
  return std::find(parts.begin(), parts.end(), wanted) != parts.end();
}

// A hierarchy of groups that can limit the time of processors: version 2, or version 1 with the controller "cpu".
struct hierarchy {
  bool is_version_1 = false;
  std::string root;    // the group that is mounted
  std::string folder;  // where
};

std::vector<hierarchy> find_hierarchies(const std::string& root) {
  std::vector<hierarchy> out;
  std::ifstream file{root + "/proc/self/mountinfo"};
  for (std::string line; std::getline(file, line);) {
    const auto separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    const auto before = split(line.substr(0, separator), ' ');
    const auto after = split(line.substr(separator + 3), ' ');
    if (before.size() < 5 || after.size() < 3) continue;
    const bool is_version_1 = after[0] == "cgroup" && has_part(after[2], "cpu");
    if (is_version_1 || after[0] == "cgroup2") out.push_back({is_version_1, before[3], before[4]});
  }
  return out;
}

// The name of this process's group in a hierarchy.
std::optional<std::string> find_group(const std::string& root, bool is_version_1) {
  std::ifstream file{root + "/proc/self/cgroup"};
  for (std::string line; std::getline(file, line);) {  // number:controllers:group
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_version_1 ? has_part(controllers, "cpu") : controllers.empty()) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Processors that a group may use; 0: no limit.
double limit_of(const std::filesystem::path& group, bool is_version_1) {
  double quota = 0;
  double period = 0;
  if (is_version_1) {
    std::ifstream{group / "cpu.cfs_quota_us"} >> quota;
    std::ifstream{group / "cpu.cfs_period_us"} >> period;
  } else {
    std::ifstream{group / "cpu.max"} >> quota >> period;  // "max 100000": quota stays 0
  }
  return quota > 0 && period > 0 ? quota / period : 0;
}

}  // namespace

std::vector<processor_limits::quota> find_quotas(const std::string& root) {
  namespace fs = std::filesystem;
  std::vector<processor_limits::quota> out;
  for (const hierarchy& each : find_hierarchies(root)) {
    const auto group = find_group(root, each.is_version_1);
    if (!group) continue;
    const fs::path top = fs::path{root + each.folder}.lexically_normal();
    // A container may show its own group as the root of what is mounted, or nothing of the groups above.
    std::string below = *group;
    if (each.root != "/" && below.rfind(each.root, 0) == 0) below.erase(0, each.root.size());
    if (below.find("..") != std::string::npos) below.clear();
    below.erase(0, std::min(below.find_first_not_of('/'), below.size()));
    for (fs::path at = below.empty() ? top : top / below;; at = at.parent_path()) {
      struct stat status {};
      const double processors = limit_of(at, each.is_version_1);
      if (processors > 0 && ::stat(at.c_str(), &status) == 0) out.push_back({status.st_dev, status.st_ino, processors});
      if (at == top || !at.has_relative_path()) break;
    }
  }
  return out;
}

processor_limits find_processor_limits() { return {find_file_tree().machine, allowed_processors(), find_quotas("")}; }

std::string to_text(const processor_limits& limits) {
  std::ostringstream text;
  text << (limits.machine.empty() ? "?" : limits.machine) << ' ' << limits.quotas.size();
  for (const processor_limits::quota& quota : limits.quotas) {
    text << ' ' << quota.device << ' ' << quota.inode << ' ' << quota.processors;
  }
  for (auto first = limits.processors.begin(); first != limits.processors.end();) {
    auto end = first + 1;
    while (end != limits.processors.end() && *end == *(end - 1) + 1) ++end;
    text << ' ' << *first << ' ' << *(end - 1);
    first = end;
  }
  return text.str();
}

processor_limits limits_in(const std::string& text) {
  processor_limits out;
  std::istringstream in{text};
  std::size_t quotas = 0;
  in >> out.machine >> quotas;
  if (out.machine == "?") out.machine.clear();
  for (processor_limits::quota quota; quotas > 0 && in >> quota.device >> quota.inode >> quota.processors; --quotas) {
    out.quotas.push_back(quota);
  }
  for (std::uint32_t first = 0, last = 0; in >> first >> last;) {
    for (; first <= last; ++first) out.processors.push_back(first);
  }
  return out;
}

unsigned threads_of_each(std::span<const processor_limits> by_rank) {
  // How many ranks share each processor and each group.
  std::map<std::pair<std::string, std::uint32_t>, unsigned> users;
  std::map<std::tuple<std::string, std::uint64_t, std::uint64_t>, unsigned> members;
  for (const processor_limits& rank : by_rank) {
    for (const std::uint32_t processor : rank.processors) ++users[{rank.machine, processor}];
    for (const auto& quota : rank.quotas) ++members[{rank.machine, quota.device, quota.inode}];
  }
  double least = 1e9;
  for (const processor_limits& rank : by_rank) {
    double available = 0;
    for (const std::uint32_t processor : rank.processors) available += 1.0 / users[{rank.machine, processor}];
    for (const auto& quota : rank.quotas) {
      available = std::min(available, quota.processors / members[{rank.machine, quota.device, quota.inode}]);
    }
    least = std::min(least, available);
  }
  return std::max(1U, static_cast<unsigned>(least + 1e-6));  // thirds add up to a little less than one
}

}  // namespace weft_kmer
