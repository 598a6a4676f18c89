// SPDX-License-Identifier: BSD-3-Clause
#include "coll/direct_run.hpp"

#include <optional>
#include <utility>

#include "coll/failed_message.hpp"
#include "coll/group_wait.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft::coll {

direct_run::direct_run(group_state& in, const schedule& steps, step_buffers& buffers)
    : in_{in}, steps_{steps}, buffers_{buffers}, ends_{in.runtime()} {
  const std::span<const step> all = steps.steps();
  waits_for_.resize(all.size());
  messages_.steps.reserve(all.size());
  work_.steps.reserve(all.size());
  behind_begin_.resize(all.size() + 1);
  for (const step& each : all) {
    for (const std::uint32_t before : steps.before(each)) ++behind_begin_[before + 1];
  }
  for (std::size_t i = 1; i < behind_begin_.size(); ++i) behind_begin_[i] += behind_begin_[i - 1];
  behind_.resize(behind_begin_.back());
  std::vector<std::uint32_t> next{behind_begin_.begin(), behind_begin_.end() - 1};
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    for (const std::uint32_t before : steps.before(all[index])) behind_[next[before]++] = index;
  }
}

errc direct_run::run(std::uint64_t tag, operation which, const reduction& by) {
  const std::span<const step> all = steps_.steps();
  messages_.clear();
  work_.clear();
  posted_ = 0;
  failed_ = errc::none;
  for (std::uint32_t index = 0; index < all.size(); ++index) {
    const std::uint32_t before = all[index].before_end - all[index].before_begin;
    waits_for_[index] = before;
    if (before == 0) make_ready(index);
  }
  // Messages first: they travel while this member works.
  for (;;) {
    if (messages_.has_next()) {
      begin_or_fail(messages_.take(), tag, by);
    } else if (work_.has_next()) {
      begin_or_fail(work_.take(), tag, by);
    } else if (posted_ != 0) {
      take_record(which);
    } else {
      break;
    }
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return failed_;
}

void direct_run::begin_or_fail(std::uint32_t index, std::uint64_t tag, const reduction& by) {
  try {
    begin(index, tag, by);
  } catch (...) {
    if (!thrown_ && failed_ == errc::none) thrown_ = std::current_exception();
    end(index);
  }
}

void direct_run::begin(std::uint32_t index, std::uint64_t tag, const reduction& by) {
  const step& which = steps_.steps()[index];
  device& through = in_.through();
  void* const context = reinterpret_cast<void*>(std::uintptr_t{index});
  status answer = status::done();
  switch (which.action) {
    case action::copy:
      if (!has_failed()) buffers_.copy(which);
      break;
    case action::reduce:
      if (!has_failed()) buffers_.reduce(which, by);
      break;
    case action::send:
      answer = through.post_send(
          in_.world_rank(which.peer), has_failed() ? failed_message(which.from.bytes) : buffers_.read(which), ends_,
          {.tag = tag | which.label, .engine = in_.engine(), .context = context, .allow_retry = false});
      break;
    case action::receive:
      answer = through.post_recv(
          in_.world_rank(which.peer), buffers_.written(which), ends_,
          {.tag = tag | which.label, .engine = in_.engine(), .context = context, .allow_retry = false});
      break;
  }
  if (!answer.is_posted()) return end(index);
  ++posted_;
}

void direct_run::end(std::uint32_t index) noexcept {
  for (std::uint32_t i = behind_begin_[index]; i < behind_begin_[index + 1]; ++i) {
    if (--waits_for_[behind_[i]] == 0) make_ready(behind_[i]);
  }
}

void direct_run::make_ready(std::uint32_t index) noexcept {
  const action which = steps_.steps()[index].action;
  queue& in = which == action::send || which == action::receive ? messages_ : work_;
  in.steps.push_back(index);  // it has room for all
}

// The record of a message that is complete, whichever is first.
void direct_run::take_record(operation which) {
  device& through = in_.through();
  std::optional<completion_record> found = ends_.pop();
  for (std::uint32_t i = 0; i < in_.settings().polls_before_wait && !found; ++i) {
    through.progress();
    found = ends_.pop();
  }
  const auto take_end = [&] {
    found = ends_.pop();
    return found.has_value();
  };
  if (!found) wait_in(in_, which, ends_, take_end);
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(found->context()));
  --posted_;
  if (failed_ == errc::none && !thrown_ && found->error() != errc::none) {
    const bool is_told = is_failed_message(*found, steps_.steps()[index].into.bytes);
    failed_ = is_told ? errc::peer_failed : found->error();
  }
  end(index);
}

}  // namespace weft::coll
