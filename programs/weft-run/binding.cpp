// SPDX-License-Identifier: BSD-3-Clause
#include "weft-run/binding.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "base/log.hpp"
#include "base/processors.hpp"
#include "weft-run/bound_jobs.hpp"
#include "weft/error.hpp"

namespace weft::run {
namespace {

constexpr const char* too_few_cores = "there are more of them than cores";
constexpr std::chrono::milliseconds choosing_timeout{2000};

// How many processors this process may run on; `ranks_max` where the system does not say.
std::size_t count_of_processors() {
  const std::size_t count = base::processors_of_this_thread().count();
  return count != 0 ? count : ranks_max;
}

hwloc_obj_type_t type_of(bind_object object) {
  switch (object) {
    case bind_object::hwthread: return HWLOC_OBJ_PU;
    case bind_object::socket: return HWLOC_OBJ_PACKAGE;
    case bind_object::numa: return HWLOC_OBJ_NUMANODE;
    case bind_object::core:
    case bind_object::portion:
    case bind_object::none: break;
  }
  return HWLOC_OBJ_CORE;
}

}  // namespace

binding::binding(const bind_rule& rule, std::uint32_t ranks) : rule_{rule}, ranks_{ranks} {
  if (rule.object == bind_object::none) return;
  if (rule.object != bind_object::portion) {
    load();
    return;
  }
  if (ranks == 1) return;
  try {
    // hwloc would say the same some milliseconds later.
    if (count_of_processors() < ranks) throw error{errc::configuration, too_few_cores};
    if (::access("/sys/devices/system/cpu", R_OK) != 0) {
      throw error{errc::configuration, "there is no /sys/devices/system/cpu to see cores by"};
    }
    load();
    leave_to_other_jobs();
  } catch (const error& problem) {
    topology_.reset();
    base::log_info("ranks are not bound: {}", problem.what());
  }
}

void binding::load() {
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

// What is left is announced, so that the next job takes other cores.
void binding::leave_to_other_jobs() {
  const auto lock = choice_lock::wait_for(choosing_timeout);
  if (!lock) throw error{errc::configuration, "another job that starts is still choosing its cores"};
  const bitmap taken{hwloc_bitmap_alloc()};
  if (!taken || !find_bound_jobs(taken.get())) return topology_.reset();
  std::erase_if(objects_, [&](hwloc_obj_t core) { return hwloc_bitmap_intersects(core->cpuset, taken.get()) != 0; });
  if (objects_.size() < ranks_) {
    throw error{errc::configuration, hwloc_bitmap_iszero(taken.get()) != 0
                                         ? too_few_cores
                                         : "other jobs of this machine are, and leave too few cores"};
  }
  const bitmap mine{hwloc_bitmap_alloc()};
  if (!mine) return topology_.reset();
  for (hwloc_obj_t core : objects_) static_cast<void>(hwloc_bitmap_or(mine.get(), mine.get(), core->cpuset));
  announced_ = announce_binding(mine.get());
  if (announced_.empty())
    throw error{errc::configuration, "there is no socket to announce their cores by to other jobs"};
}

// Some objects have no processors, as the node of a memory of its own. And where hwloc can't read /sys it guesses which
// processors there are: no rank can be bound to a processor that this process may not use.
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

bool binding::is_crowded() const noexcept {
  return topology_ && rule_.object != bind_object::portion && std::uint64_t{ranks_} * rule_.each > objects_.size();
}

bool binding::apply(std::uint32_t rank) const noexcept {
  if (!topology_) return true;
  const bitmap processors{hwloc_bitmap_alloc()};
  if (!processors) return false;
  const bool in_portions = rule_.object == bind_object::portion;
  const std::uint64_t begin = in_portions ? rank * objects_.size() / ranks_ : std::uint64_t{rank} * rule_.each;
  const std::uint64_t end = in_portions ? (rank + std::uint64_t{1}) * objects_.size() / ranks_ : begin + rule_.each;
  for (std::uint64_t i = begin; i < end; ++i) {
    const hwloc_obj_t object = objects_[i % objects_.size()];
    if (hwloc_bitmap_or(processors.get(), processors.get(), object->cpuset) != 0) return false;
  }
  // This thread is the whole process, and hwloc finds the threads of a process in /proc, which may be missing.
  return hwloc_set_cpubind(topology_.get(), processors.get(), HWLOC_CPUBIND_THREAD) == 0 || in_portions;
}

}  // namespace weft::run
