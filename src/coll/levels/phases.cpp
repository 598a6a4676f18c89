// SPDX-License-Identifier: BSD-3-Clause
#include "coll/levels/phases.hpp"

#include <vector>

#include "base/assertion.hpp"

namespace weft::coll {

namespace {

// Ranks of different nodes exchange messages in one phase alone.
std::uint32_t label_in(phase now, std::uint32_t label) noexcept {
  return now == phase::between_nodes ? label : label * 2 + (now == phase::within_nodes ? 0 : 1);
}

}  // namespace

void phases::add(phase now, algorithm_function which, const collective_args& args,
                 std::span<const std::uint32_t> members, const buffers& memory) {
  WEFT_ASSERT_CHECKED(args.size == members.size());
  schedule inner;
  which(inner, args);
  const part scratch = out_.scratch(inner.scratch_bytes());
  const auto moved = [&](const part& from) -> part {
    const part& base = from.location == location::input    ? memory.input
                       : from.location == location::output ? memory.output
                                                           : scratch;
    return {base.location, base.offset + from.offset, from.bytes};
  };
  const auto first = static_cast<std::uint32_t>(out_.steps().size());
  for (const step& each : inner.steps()) {
    const std::uint32_t label = label_in(now, each.label);
    step_ref made;
    switch (each.action) {
      case action::send: made = out_.send(members[each.peer], label, moved(each.from)); break;
      case action::receive: made = out_.receive(members[each.peer], label, moved(each.into)); break;
      case action::reduce:
        made = each.is_into_lower ? out_.reduce_into_lower(moved(each.from), moved(each.into))
                                  : out_.reduce(moved(each.from), moved(each.into));
        break;
      case action::copy: made = out_.copy(moved(each.from), moved(each.into)); break;
    }
    const std::span<const std::uint32_t> before = inner.before(each);
    for (const std::uint32_t index : before) out_.add_edge({first + index}, made);
    if (before.empty()) out_.add_edge(last_, made);
  }
  if (!inner.steps().empty()) last_ = end_of(first);
}

step_ref phases::end_of(std::uint32_t first) {
  const std::span<const step> steps = out_.steps();
  std::vector<bool> has_later(steps.size());
  for (std::uint32_t i = first; i < steps.size(); ++i)
    for (const std::uint32_t index : out_.before(steps[i])) has_later[index] = true;
  std::vector<step_ref> ends;
  for (std::uint32_t i = first; i < steps.size(); ++i)
    if (!has_later[i]) ends.push_back({i});
  if (ends.size() == 1) return ends[0];
  // A copy of no bytes joins them.
  const step_ref joined = out_.copy({}, {});
  for (const step_ref each : ends) out_.add_edge(each, joined);
  return joined;
}

}  // namespace weft::coll
