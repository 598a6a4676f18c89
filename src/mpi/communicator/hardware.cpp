// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/hardware.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace weft::mpi {
namespace {

using processor_list = std::vector<std::uint32_t>;
constexpr std::uint32_t processors_max = 8192;  // Linux has no more

const std::filesystem::path system_folder{"/sys/devices/system"};

std::string line_of(const std::filesystem::path& file) {
  std::ifstream stream{file};
  std::string out;
  std::getline(stream, out);
  return out;
}

// A list as Linux writes it: 0-3,8.
processor_list parsed(const std::string& text) {
  processor_list out;
  const char* position = text.data();
  const char* const end = position + text.size();
  while (position < end) {
    std::uint32_t first = 0;
    auto found = std::from_chars(position, end, first);
    if (found.ec != std::errc{}) return out;
    std::uint32_t last = first;
    if (found.ptr < end && *found.ptr == '-') found = std::from_chars(found.ptr + 1, end, last);
    for (std::uint32_t each = first; each <= last && each < processors_max; ++each) out.push_back(each);
    position = found.ptr + 1;
  }
  return out;
}

// The processors on which the process may run.
processor_list own_processors() {
  std::array<cpu_set_t, processors_max / CPU_SETSIZE> all{};
  processor_list out;
  if (::sched_getaffinity(::getpid(), sizeof all, all.data()) != 0) return out;
  for (std::uint32_t each = 0; each < processors_max; ++each) {
    if (CPU_ISSET_S(each, sizeof all, all.data())) out.push_back(each);
  }
  return out;
}

processor_list cache_processors(const std::filesystem::path& processor, std::string_view level) {
  for (int index = 0; index < 16; ++index) {
    const std::filesystem::path cache = processor / "cache" / ("index" + std::to_string(index));
    if (line_of(cache / "level") == level && line_of(cache / "type") != "Instruction")
      return parsed(line_of(cache / "shared_cpu_list"));
  }
  return {};
}

processor_list numa_processors(const std::filesystem::path& processor) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator{processor, ignored}) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("node")) return parsed(line_of(system_folder / "node" / name / "cpulist"));
  }
  return {};
}

// The processors of the resource that has this one.
processor_list beside(std::uint32_t processor, hardware_kind kind) {
  const std::filesystem::path folder = system_folder / "cpu" / ("cpu" + std::to_string(processor));
  switch (kind) {
    case hardware_kind::package: return parsed(line_of(folder / "topology" / "package_cpus_list"));
    case hardware_kind::numa_node: return numa_processors(folder);
    case hardware_kind::l3_cache: return cache_processors(folder, "3");
    case hardware_kind::l2_cache: return cache_processors(folder, "2");
    case hardware_kind::core: return parsed(line_of(folder / "topology" / "core_cpus_list"));
    case hardware_kind::processor: return {processor};
  }
  return {};
}

}  // namespace

std::optional<hardware_kind> hardware_of(std::string_view name) noexcept {
  constexpr std::string_view scheme = "hwloc://";
  if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
  const auto found = std::ranges::find(names_of_hardware, name);
  if (found == names_of_hardware.end()) return std::nullopt;
  return static_cast<hardware_kind>(found - names_of_hardware.begin());
}

std::optional<std::uint32_t> own_hardware(hardware_kind kind) {
  const processor_list own = own_processors();
  if (own.empty()) return std::nullopt;
  const processor_list all = beside(own.front(), kind);  // both in ascending order
  if (all.empty() || !std::ranges::includes(all, own)) return std::nullopt;
  return all.front();
}

}  // namespace weft::mpi
