// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/blocking_run.hpp"

#include <optional>
#include <utility>

#include "coll/group/group_wait.hpp"
#include "coll/run/failed_message.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft::coll {

blocking_run::blocking_run(group_state& group, const schedule& steps, step_buffers& buffers)
    : group_{group}, steps_{steps}, buffers_{buffers}, ends_{group.runtime()} {
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

errc blocking_run::run(std::uint64_t tag, operation which, const reduction& reduction) {
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
      begin_or_fail(messages_.take(), tag, reduction);
    } else if (work_.has_next()) {
      begin_or_fail(work_.take(), tag, reduction);
    } else if (posted_ != 0) {
      take_record(which);
    } else {
      break;
    }
  }
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  return failed_;
}

void blocking_run::begin_or_fail(std::uint32_t index, std::uint64_t tag, const reduction& reduction) {
  try {
    begin(index, tag, reduction);
  } catch (...) {
    if (!thrown_ && failed_ == errc::none) thrown_ = std::current_exception();
    end(index);
  }
}

void blocking_run::begin(std::uint32_t index, std::uint64_t tag, const reduction& reduction) {
  const step& step = steps_.steps()[index];
  weft::device& device = group_.device();
  void* const context = reinterpret_cast<void*>(std::uintptr_t{index});
  status answer = status::done();
  switch (step.action) {
    case action::copy:
      if (!has_failed()) buffers_.copy(step);
      break;
    case action::reduce:
      if (!has_failed()) buffers_.reduce(step, reduction);
      break;
    case action::send:
      answer = device.post_send(
          group_.world_rank(step.peer), has_failed() ? failed_message(step.from.bytes) : buffers_.read(step), ends_,
          {.tag = tag | step.label, .engine = group_.engine(), .context = context, .allow_retry = false});
      break;
    case action::receive:
      answer = device.post_recv(
          group_.world_rank(step.peer), buffers_.written(step), ends_,
          {.tag = tag | step.label, .engine = group_.engine(), .context = context, .allow_retry = false});
      break;
  }
  if (!answer.is_posted()) return end(index);
  ++posted_;
}

void blocking_run::end(std::uint32_t index) noexcept {
  for (std::uint32_t i = behind_begin_[index]; i < behind_begin_[index + 1]; ++i) {
    if (--waits_for_[behind_[i]] == 0) make_ready(behind_[i]);
  }
}

void blocking_run::make_ready(std::uint32_t index) noexcept {
  const action which = steps_.steps()[index].action;
  queue& ready = which == action::send || which == action::receive ? messages_ : work_;
  ready.steps.push_back(index);  // it has room for all
}

// The record of a message that is complete, whichever is first.
void blocking_run::take_record(operation which) {
  weft::device& device = group_.device();
  std::optional<completion_record> found = ends_.pop();
  for (std::uint32_t i = 0; i < group_.settings().polls_before_wait && !found; ++i) {
    device.progress();
    found = ends_.pop();
  }
  const auto take_end = [&] {
    found = ends_.pop();
    return found.has_value();
  };
  if (!found) wait_in(group_, which, ends_, take_end);
  const auto index = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(found->context()));
  --posted_;
  if (failed_ == errc::none && !thrown_ && found->error() != errc::none) {
    const bool is_told = is_failed_message(*found, steps_.steps()[index].into.bytes);
    failed_ = is_told ? errc::peer_failed : found->error();
  }
  end(index);
}

}  // namespace weft::coll
