#include "weft-run/binding.hpp"

#include <fmt/format.h>

#include "weft/error.hpp"

namespace weft::run {
namespace {

struct bitmap_destroyer {
  void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc_bitmap_free(bitmap); }
};

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
  type_ = type_of(rule.object);
  const int count = hwloc_get_nbobjs_by_type(topology, type_);
  if (count <= 0) {
    throw error{errc::configuration,
                fmt::format("--bind: this machine shows no object of kind {}; --bind none, core or hwthread may do",
                            hwloc_obj_type_string(type_))};
  }
  count_ = static_cast<std::uint32_t>(count);
}

bool binding::crowded(std::uint32_t ranks) const noexcept {
  return topology_ && std::uint64_t{ranks} * rule_.each > count_;
}

bool binding::apply(std::uint32_t rank) const noexcept {
  if (!topology_) return true;
  const std::unique_ptr<hwloc_bitmap_s, bitmap_destroyer> processors{hwloc_bitmap_alloc()};
  if (!processors) return false;
  for (std::uint32_t i = 0; i < rule_.each; ++i) {
    const auto index = static_cast<unsigned>((std::uint64_t{rank} * rule_.each + i) % count_);
    const hwloc_obj_t object = hwloc_get_obj_by_type(topology_.get(), type_, index);
    if (object == nullptr || hwloc_bitmap_or(processors.get(), processors.get(), object->cpuset) != 0) return false;
  }
  return hwloc_set_cpubind(topology_.get(), processors.get(), HWLOC_CPUBIND_PROCESS) == 0;
}

}  // namespace weft::run
