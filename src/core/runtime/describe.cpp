// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/describe.hpp"

#include <fmt/format.h>

#include "core/device/device_counts.hpp"
#include "core/operation/operation_state.hpp"
#include "core/runtime/registrations.hpp"
#include "weft/completion_queue.hpp"
#include "weft/counter.hpp"
#include "weft/synchronizer.hpp"

namespace weft::core {
namespace {

std::string kind_of_object(const completion& object) {
  if (const auto* const count = dynamic_cast<const counter*>(&object)) {
    return fmt::format("a counter of value {}", count->value());
  }
  if (const auto* const queue = dynamic_cast<const completion_queue*>(&object)) {
    return queue->is_empty() ? "an empty completion_queue" : "a completion_queue that holds records";
  }
  if (dynamic_cast<const synchronizer*>(&object) != nullptr) return "a synchronizer";
  return "a completion object";
}

}  // namespace

std::string to_text(const completion& object) {
  const std::uint32_t to_come = object.outstanding();
  const std::string name = kind_of_object(object);
  if (to_come != 0) return fmt::format("{}, which {} posted operations will signal", name, to_come);
  if (registrations::are_of(object)) return name + ", which messages of other ranks signal";
  return name + ", which no posted operation will signal";
}

std::string counters_text(std::uint32_t rank, std::uint32_t index, const device_counters& counted) {
  return fmt::format("rank {} counted on device {}: {}", rank, index, to_text(counted));
}

}  // namespace weft::core
