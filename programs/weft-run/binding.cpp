#include "weft-run/binding.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "weft/error.hpp"

namespace weft::run {
namespace {

struct bitmap_destroyer {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};

using bitmap = std::unique_ptr<hwloc_bitmap_s, bitmap_destroyer>;

hwloc_obj_type_t type_of(bind_object object) {
  switch (object) {
    case bind_object::hwthread: return HWLOC_OBJ_PU;
    case bind_object::socket: return HWLOC_OBJ_PACKAGE;
    case bind_object::numa: return HWLOC_OBJ_NUMANODE;
    case bind_object::core:
    case bind_object::none: break;
  }
  return HWLOC_OBJ_CORE;
}

}  // namespace

binding::binding(const bind_rule& rule) : rule_{rule} {
  if (rule.object == bind_object::none) return;
  hwloc_topology_t topology = nullptr;
  const bool good = hwloc_topology_init(&topology) == 0;
  topology_.reset(topology);
  if (!good ||
      hwloc_topology_set_flags(topology,
                               HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING) != 0 ||
      hwloc_topology_load(topology) != 0) {
    throw error{errc::configuration, "--bind: hwloc can't read this machine's shape; --bind none does without it"};
  }
  find_objects();
}

// Some objects have no processors, as the node of a memory of its own. And where hwloc can't read /sys it guesses which
// processors there are: nobody can be bound to those that this process may not use.
void binding::find_objects() {
  const hwloc_obj_type_t type = type_of(rule_.object);
  const int count = hwloc_get_nbobjs_by_type(topology_.get(), type);
  if (count <= 0) {
    throw error{errc::configuration,
                fmt::format("--bind: this machine shows no object of kind {}; --bind none, core or hwthread may do",
                            hwloc_obj_type_string(type))};
  }
  const bitmap allowed{hwloc_bitmap_alloc()};
  if (!allowed || hwloc_get_cpubind(topology_.get(), allowed.get(), HWLOC_CPUBIND_THREAD) != 0) {
    throw error{errc::configuration,
                fmt::format("--bind: can't tell which processors this process may use: {}; --bind none "
                            "does without",
                            std::strerror(errno))};
  }
  for (int i = 0; i < count; ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology_.get(), type, static_cast<unsigned>(i));
    if (object != nullptr && hwloc_bitmap_intersects(object->cpuset, allowed.get()) != 0) objects_.push_back(object);
  }
  if (objects_.empty()) {
    throw error{errc::configuration,
                fmt::format("--bind: hwloc finds no object of kind {} with a processor that this process may use; it "
                            "reads /sys/devices/system/cpu, which must be there: mount /sys, or use --bind none",
                            hwloc_obj_type_string(type))};
  }
}

bool binding::crowded(std::uint32_t ranks) const noexcept {
  return topology_ && std::uint64_t{ranks} * rule_.each > objects_.size();
}

bool binding::apply(std::uint32_t rank) const noexcept {
  if (!topology_) return true;
  const bitmap processors{hwloc_bitmap_alloc()};
  if (!processors) return false;
  for (std::uint32_t i = 0; i < rule_.each; ++i) {
    const hwloc_obj_t object = objects_[(std::uint64_t{rank} * rule_.each + i) % objects_.size()];
    if (hwloc_bitmap_or(processors.get(), processors.get(), object->cpuset) != 0) return false;
  }
  // This thread is the whole process, and hwloc finds the threads of a process in /proc, which may be missing.
  return hwloc_set_cpubind(topology_.get(), processors.get(), HWLOC_CPUBIND_THREAD) == 0;
}

}  // namespace weft::run
