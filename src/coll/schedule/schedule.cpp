// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/schedule.hpp"

#include "base/assertion.hpp"

namespace weft::coll {

step_ref schedule::add(const step& made, std::initializer_list<step_ref> before) {
  step out = made;
  out.before_begin = static_cast<std::uint32_t>(edges_.size());
  for (const step_ref each : before) {
    WEFT_ASSERT(each.index == step_ref::none || each.index < steps_.size());
    if (each.index != step_ref::none) edges_.push_back(each.index);
  }
  out.before_end = static_cast<std::uint32_t>(edges_.size());
  steps_.push_back(out);
  return {static_cast<std::uint32_t>(steps_.size() - 1)};
}

step_ref schedule::send(std::uint32_t peer, std::uint32_t label, part from, std::initializer_list<step_ref> before) {
  WEFT_ASSERT(label < labels_max);
  return add({.action = action::send, .peer = peer, .label = label, .from = from, .into = {}}, before);
}

step_ref schedule::receive(std::uint32_t peer, std::uint32_t label, part into, std::initializer_list<step_ref> before) {
  WEFT_ASSERT(label < labels_max);
  return add({.action = action::receive, .peer = peer, .label = label, .from = {}, .into = into}, before);
}

step_ref schedule::reduce(part from, part into, std::initializer_list<step_ref> before) {
  WEFT_ASSERT(from.bytes == into.bytes);
  return add({.action = action::reduce, .from = from, .into = into}, before);
}

step_ref schedule::reduce_into_lower(part from, part into, std::initializer_list<step_ref> before) {
  WEFT_ASSERT(from.bytes == into.bytes);
  return add({.action = action::reduce, .is_into_lower = true, .from = from, .into = into}, before);
}

step_ref schedule::copy(part from, part into, std::initializer_list<step_ref> before) {
  WEFT_ASSERT(from.bytes == into.bytes);
  return add({.action = action::copy, .from = from, .into = into}, before);
}

void schedule::add_edge(step_ref before, step_ref after) {
  WEFT_ASSERT(after.index + 1 == steps_.size());
  if (before.index == step_ref::none) return;
  edges_.push_back(before.index);
  steps_.back().before_end = static_cast<std::uint32_t>(edges_.size());
}

part schedule::scratch(std::uint64_t bytes) noexcept {
  constexpr std::uint64_t alignment = 64;
  const std::uint64_t offset = scratch_bytes_;
  scratch_bytes_ += (bytes + alignment - 1) / alignment * alignment;
  return {location::scratch, offset, bytes};
}

}  // namespace weft::coll
