// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/report/machine.hpp"

#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>

#include "base/processors.hpp"
#include "weft-perf/report/build_info.hpp"

namespace weft::perf {
namespace {

struct destroy_topology {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
struct destroy_bitmap {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};
using bitmap = std::unique_ptr<hwloc_bitmap_s, destroy_bitmap>;

using owned_topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, destroy_topology>;

owned_topology load_topology() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) std::abort();
  (void)hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  if (hwloc_topology_load(raw) != 0) std::abort();
  return owned_topology{raw};
}

// What the process may use is what it was given, so the topology is read before any thread is pinned.
owned_topology& own_topology() {
  static owned_topology loaded = load_topology();
  return loaded;
}

hwloc_topology_t topology() { return own_topology().get(); }

}  // namespace

std::uint32_t core_count() {
  const int count = hwloc_get_nbobjs_by_type(topology(), HWLOC_OBJ_CORE);
  return count > 0 ? static_cast<std::uint32_t>(count) : 1;
}

std::uint32_t core_of_partner(std::uint32_t pair, bool begins) {
  const std::uint32_t all = core_count();
  const std::uint32_t cores = all == 1 ? 1 : all / 2 * 2;
  return (2 * pair + 2 * pair / cores + (begins ? 0 : 1)) % cores;
}

std::string processors() {
  std::string out;
  for (std::uint32_t index = 0; index < core_count(); ++index) {
    const hwloc_obj_t core = hwloc_get_obj_by_type(topology(), HWLOC_OBJ_CORE, index);
    if (core != nullptr) out += (out.empty() ? "" : ",") + std::to_string(hwloc_bitmap_first(core->cpuset));
  }
  return out.empty() ? "0" : out;
}

void given_processors::unite(const given_processors& other) noexcept {
  const auto is_unknown = [](std::uint64_t word) { return word == 0; };
  if (other.machine != machine || std::ranges::all_of(set, is_unknown)) return;
  for (std::size_t i = 0; i < set.size(); ++i) set[i] |= other.set[i];
}

given_processors processors_given() {
  given_processors out;
  out.machine = static_cast<std::uint64_t>(gethostid());
  std::ifstream boot{"/proc/sys/kernel/random/boot_id"};
  std::string name;
  if (boot >> name) out.machine = std::hash<std::string>{}(name);
  std::ranges::copy(base::processors_of_this_thread().words(), out.set.begin());
  return out;
}

void use_processors(const given_processors& all) {
  base::processor_set wanted;
  for (std::uint32_t each = 0; each < base::processor_set::size; ++each) {
    if ((all.set[each / 64] >> (each % 64) & 1) != 0) wanted.add(each);
  }
  if (!base::keep_this_thread_on(wanted)) return;
  own_topology() = load_topology();
}

bool pin_thread(std::uint32_t index) {
  const hwloc_obj_t core = hwloc_get_obj_by_type(topology(), HWLOC_OBJ_CORE, index % core_count());
  if (core == nullptr) return false;
  const bitmap core_set{hwloc_bitmap_dup(core->cpuset)};
  hwloc_bitmap_singlify(core_set.get());
  return hwloc_set_cpubind(topology(), core_set.get(), HWLOC_CPUBIND_THREAD) == 0;
}

pinned_here::pinned_here(std::uint32_t core) : before_{hwloc_bitmap_alloc()} {
  if (hwloc_get_cpubind(topology(), static_cast<hwloc_bitmap_t>(before_), HWLOC_CPUBIND_THREAD) == 0) pin_thread(core);
}

pinned_here::~pinned_here() {
  const bitmap before{static_cast<hwloc_bitmap_t>(before_)};
  if (hwloc_bitmap_iszero(before.get()) == 0) (void)hwloc_set_cpubind(topology(), before.get(), HWLOC_CPUBIND_THREAD);
}

std::string pinning_of_thread() {
  const bitmap now{hwloc_bitmap_alloc()};
  if (hwloc_get_cpubind(topology(), now.get(), HWLOC_CPUBIND_THREAD) != 0) return "unknown";
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, now.get()) < 0) return "unknown";
  const std::unique_ptr<char, decltype(&std::free)> owned{text, &std::free};
  return text;
}

std::string build_commit() { return commit; }
std::string build_flags() { return flags; }

std::string host() {
  const hwloc_obj_t package = hwloc_get_obj_by_type(topology(), HWLOC_OBJ_PACKAGE, 0);
  const char* const model = package == nullptr ? nullptr : hwloc_obj_get_info_by_name(package, "CPUModel");
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  const std::string all = std::to_string(count) + (count == 1 ? " processor" : " processors");
  return model == nullptr ? all : std::string{model} + ", " + all;
}

std::string program_folder() { return std::filesystem::read_symlink("/proc/self/exe").parent_path().string(); }

}  // namespace weft::perf
