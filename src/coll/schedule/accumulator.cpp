// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/accumulator.hpp"

namespace weft::coll {

accumulator::accumulator(ordered& steps, const operands& initial) noexcept
    : steps_{steps}, may_write_{initial.may_write_input}, has_result_{initial.result.bytes != 0} {
  buffers_[own] = {initial.input, 0, true};
  if (has_result_) buffers_[kept] = {initial.result, 0, true};
  if (has_result_ && initial.input.location == initial.result.location) value_ = kept;
}

accumulator::buffer& accumulator::make(std::uint32_t index, range piece) {
  buffer& out = buffers_[index];
  if (!out.is_made) out = {steps_.steps().scratch(piece.bytes), piece.begin, true};
  return out;
}

// One that has not the value, and not the last message: it can be received into while that is reduced.
std::uint32_t accumulator::next_scratch() noexcept {
  do last_ = last_ + 1 == buffer_count ? first_scratch : last_ + 1;
  while (last_ == value_);
  return last_;
}

void accumulator::send(std::uint32_t peer, std::uint32_t label, range piece) { steps_.send(peer, label, value(piece)); }

void accumulator::receive(std::uint32_t peer, std::uint32_t label, range piece, bool is_lower) {
  const std::uint32_t next = !may_write_ && has_result_ && value_ != kept ? kept : next_scratch();
  const part theirs = part_of(make(next, piece), piece);
  steps_.receive(peer, label, theirs);
  const part from = may_write_ ? theirs : value(piece), into = may_write_ ? value(piece) : theirs;
  if (is_lower == may_write_) {
    steps_.reduce(from, into);
  } else {
    steps_.reduce_into_lower(from, into);
  }
  if (!may_write_) value_ = next;
  may_write_ = true;
}

part accumulator::result(range piece, range whole) { return part_of(make(kept, whole), piece); }

void accumulator::finish(range piece, range whole) {
  if (value_ == kept) return;
  steps_.copy(value(piece), result(piece, whole));
  value_ = kept;
}

}  // namespace weft::coll
