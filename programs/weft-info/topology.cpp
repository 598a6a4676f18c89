// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <hwloc.h>

#include <memory>
#include <string>
#include <type_traits>

#include "base/config.hpp"
#include "base/counted.hpp"
#include "base/processors.hpp"
#include "weft-info/info.hpp"

namespace weft::info {
namespace {

struct destroy {
  void operator()(hwloc_topology_t topology) const noexcept { hwloc_topology_destroy(topology); }
};
using topology_handle = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, destroy>;

topology_handle load() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return {};
  topology_handle out{raw};
  if (hwloc_topology_load(raw) != 0) return {};
  return out;
}

int count_of(const topology_handle& topology, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(topology.get(), type));
}

std::string counted(int count, std::string_view noun) { return base::counted(static_cast<std::uint64_t>(count), noun); }

// The first cache of a level stands for all: machines with two kinds of cores are rare, and hwloc's lstopo has it all.
void print_cache(const topology_handle& topology, hwloc_obj_type_t type, std::string_view name) {
  const hwloc_obj_t cache = hwloc_get_obj_by_type(topology.get(), type, 0);
  if (cache == nullptr) return;
  const int cores = hwloc_get_nbobjs_inside_cpuset_by_type(topology.get(), cache->cpuset, HWLOC_OBJ_CORE);
  fmt::print("  {}: {} of {} KiB, each for {}, lines of {} bytes\n", name, count_of(topology, type),
             cache->attr->cache.size / 1024, counted(cores, "core"), cache->attr->cache.linesize);
}

void print_binding() {
  const base::processor_set mine = base::processors_of_this_thread();
  fmt::print("binding: this process may run on {} with {}: {}; WEFT_BIND={}; --explain tells whether ranks meet\n",
             counted(static_cast<int>(base::cores_within(mine).size()), "core"),
             counted(static_cast<int>(mine.count()), "processor"), mine.to_text(),
             base::process_settings().bind == base::bind_kind::automatic ? "auto" : "none");
}

}  // namespace

void print_topology() {
  const topology_handle topology = load();
  if (!topology) {
    fmt::print("topology: hwloc can't find it out here\n");
    return;
  }
  const hwloc_obj_t machine = hwloc_get_root_obj(topology.get());
  fmt::print("topology: {}, {}, {}, {}; {} MiB of memory\n", counted(count_of(topology, HWLOC_OBJ_PACKAGE), "package"),
             counted(count_of(topology, HWLOC_OBJ_NUMANODE), "NUMA node"),
             counted(count_of(topology, HWLOC_OBJ_CORE), "core"),
             counted(count_of(topology, HWLOC_OBJ_PU), "hardware thread"), machine->total_memory >> 20);
  print_cache(topology, HWLOC_OBJ_L1CACHE, "L1 data");
  print_cache(topology, HWLOC_OBJ_L2CACHE, "L2");
  print_cache(topology, HWLOC_OBJ_L3CACHE, "L3");
  print_binding();
}

}  // namespace weft::info
