// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/ordered.hpp"

namespace weft::coll {

namespace {

bool overlaps(const part& first, const part& second) noexcept {
  return first.location == second.location && first.bytes != 0 && second.bytes != 0 &&
         first.offset < second.offset + second.bytes && second.offset < first.offset + first.bytes;
}
bool covers(const part& whole, const part& piece) noexcept {
  return whole.location == piece.location && whole.offset <= piece.offset &&
         piece.offset + piece.bytes <= whole.offset + whole.bytes;
}

}  // namespace

void ordered::add_edges(step_ref after, part read, part written) {
  for (const access& each : accesses_) {
    if (overlaps(each.bytes, written) || (each.writes && overlaps(each.bytes, read))) {
      // The accesses of a step are neighbours, so that this finds a second edge to it.
      const auto before = out_.before(out_.steps()[after.index]);
      if (before.empty() || before.back() != each.step) out_.add_edge({each.step}, after);
    }
  }
  if (written.bytes != 0) {
    std::erase_if(accesses_, [&](const access& each) { return covers(written, each.bytes); });
    accesses_.push_back({written, after.index, true});
  }
  // Nothing writes the input.
  if (read.bytes != 0 && read.location != location::input) accesses_.push_back({read, after.index, false});
}

void ordered::send(std::uint32_t peer, std::uint32_t label, part from) {
  add_edges(out_.send(peer, label, from), from, nothing);
}

void ordered::receive(std::uint32_t peer, std::uint32_t label, part into) {
  add_edges(out_.receive(peer, label, into), nothing, into);
}

void ordered::reduce(part from, part into) { add_edges(out_.reduce(from, into), from, into); }

void ordered::reduce_into_lower(part from, part into) { add_edges(out_.reduce_into_lower(from, into), from, into); }

void ordered::copy(part from, part into) { add_edges(out_.copy(from, into), from, into); }

}  // namespace weft::coll
