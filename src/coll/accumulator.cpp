// SPDX-License-Identifier: BSD-3-Clause
#include "coll/accumulator.hpp"

namespace weft::coll {

accumulator::accumulator(ordered& steps, const operands& of) noexcept
    : steps_{steps}, may_write_{of.may_write}, has_result_{of.result.bytes != 0} {
  buffers_[own] = {of.own, 0, true};
  if (has_result_) buffers_[kept] = {of.result, 0, true};
  if (has_result_ && of.own.at == of.result.at) value_ = kept;
}

accumulator::buffer& accumulator::make(std::uint32_t index, range of) {
  buffer& out = buffers_[index];
  if (!out.is_made) out = {steps_.steps().temporary(of.bytes), of.begin, true};
  return out;
}

// One that has not the value, and not the last message: it can be received into while that is reduced.
std::uint32_t accumulator::next_temporary() noexcept {
  do last_ = last_ + 1 == buffer_count ? first_temporary : last_ + 1;
  while (last_ == value_);
  return last_;
}

void accumulator::send(std::uint32_t peer, std::uint32_t label, range of) { steps_.send(peer, label, value(of)); }

void accumulator::receive(std::uint32_t peer, std::uint32_t label, range of, bool is_lower) {
  const std::uint32_t next = !may_write_ && has_result_ && value_ != kept ? kept : next_temporary();
  const part theirs = at(make(next, of), of);
  steps_.receive(peer, label, theirs);
  const part from = may_write_ ? theirs : value(of), into = may_write_ ? value(of) : theirs;
  if (is_lower == may_write_) {
    steps_.reduce(from, into);
  } else {
    steps_.reduce_into_lower(from, into);
  }
  if (!may_write_) value_ = next;
  may_write_ = true;
}

part accumulator::result(range of, range whole) { return at(make(kept, whole), of); }

void accumulator::finish(range of, range whole) {
  if (value_ == kept) return;
  steps_.copy(value(of), result(of, whole));
  value_ = kept;
}

}  // namespace weft::coll
