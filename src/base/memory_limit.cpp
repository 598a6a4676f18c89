// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_limit.hpp"

#include <sys/resource.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

namespace weft::base {
namespace {

constexpr std::uint64_t no_limit = ~std::uint64_t{0};

// The number in a file of one line; `no_limit` if there is no such file, or no number ("max") in it.
std::uint64_t limit_in(const std::string& file) {
  std::ifstream stream{file};
  std::string text;
  std::getline(stream, text);
  std::uint64_t out = no_limit;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc{} && end == text.data() + text.size() ? out : no_limit;
}

bool has_controller(std::string_view list, std::string_view item) noexcept {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == item) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

struct mount {
  std::string group;  // that is mounted
  std::string point;
};

// The place where the file system `type` is mounted, or the first one of it that has `option`.
std::optional<mount> mount_of(const std::string& mountinfo, std::string_view type, std::string_view option) {
  std::ifstream stream{mountinfo};
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words{line};
    std::string skipped, found_type, options;
    mount out;
    words >> skipped >> skipped >> skipped >> out.group >> out.point;
    while (words >> skipped && skipped != "-") continue;
    words >> found_type >> skipped >> options;
    if (words && found_type == type && (option.empty() || has_controller(options, option))) return out;
  }
  return {};
}

// The group of this process in the hierarchy with `controller`; in version 2, whose line names no controller, with "".
std::optional<std::string> group_of_process(const std::string& file, std::string_view controller) {
  std::ifstream stream{file};
  for (std::string line; std::getline(stream, line);) {  // number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = std::string_view{line}.substr(first + 1, second - first - 1);
    if (controller.empty() ? controllers.empty() : has_controller(controllers, controller))
      return line.substr(second + 1);
  }
  return {};
}

// The folder of the group and those of the groups above it, as far as they can be seen here.
std::vector<std::string> folders_of(const std::string& root, const mount& mounted, std::string group) {
  if (mounted.group != "/")
    group = group.starts_with(mounted.group) ? group.substr(mounted.group.size()) : std::string{};
  if (group.find("..") != group.npos) group.clear();  // it lies outside of what is mounted here
  std::vector<std::string> out;
  for (;;) {
    while (!group.empty() && group.back() == '/') group.pop_back();
    out.push_back(root + mounted.point + group);
    if (group.empty()) return out;
    group.resize(group.rfind('/') == group.npos ? 0 : group.rfind('/'));
  }
}

std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) noexcept { return a > no_limit - b ? no_limit : a + b; }

std::uint64_t limit_of_version_2(const std::string& root, std::uint64_t swap_bytes) {
  const auto mounted = mount_of(root + "/proc/self/mountinfo", "cgroup2", "");
  const auto group = group_of_process(root + "/proc/self/cgroup", "");
  if (!mounted || !group) return no_limit;
  std::uint64_t memory = no_limit;
  for (const std::string& folder : folders_of(root, *mounted, *group)) {
    memory = std::min(memory, limit_in(folder + "/memory.max"));
    swap_bytes = std::min(swap_bytes, limit_in(folder + "/memory.swap.max"));
  }
  return sum_of(memory, swap_bytes);
}

std::uint64_t limit_of_version_1(const std::string& root, std::uint64_t swap_bytes) {
  const auto mounted = mount_of(root + "/proc/self/mountinfo", "cgroup", "memory");
  const auto group = group_of_process(root + "/proc/self/cgroup", "memory");
  if (!mounted || !group) return no_limit;
  std::uint64_t memory = no_limit;
  std::uint64_t both = no_limit;
  for (const std::string& folder : folders_of(root, *mounted, *group)) {
    memory = std::min(memory, limit_in(folder + "/memory.limit_in_bytes"));
    both = std::min(both, limit_in(folder + "/memory.memsw.limit_in_bytes"));
  }
  return std::min(both, sum_of(memory, swap_bytes));
}

std::uint64_t limit_of_groups(std::uint64_t swap_bytes) noexcept {
  try {
    return control_group_limit({}, swap_bytes);
  } catch (...) {  // no memory to find out how much there is
    return no_limit;
  }
}

}  // namespace

std::uint64_t control_group_limit(const std::string& root, std::uint64_t swap_bytes) {
  return std::min(limit_of_version_2(root, swap_bytes), limit_of_version_1(root, swap_bytes));
}

std::uint64_t memory_limit() noexcept {
  std::uint64_t out = no_limit;
  std::uint64_t swap = 0;
  struct sysinfo machine {};
  if (sysinfo(&machine) == 0) {
    swap = std::uint64_t{machine.totalswap} * machine.mem_unit;
    out = std::uint64_t{machine.totalram} * machine.mem_unit + swap;
  }
  for (const auto which : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(which, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
      out = std::min(out, std::uint64_t{limit.rlim_cur});
    }
  }
  static const std::uint64_t of_groups = limit_of_groups(swap);
  return std::min(out, of_groups);
}

}  // namespace weft::base
