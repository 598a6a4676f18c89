// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/short_collective.hpp"

#include <fmt/format.h>

#include <array>
#include <exception>
#include <memory>
#include <utility>

#include "base/collective_names.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/short/bodies.hpp"
#include "coll/args/buffers.hpp"
#include "coll/group/group_wait.hpp"
#include "coll/run/failed_message.hpp"
#include "weft/counter.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft::coll::short_collective {

namespace {

// The messages of one collective. Sends go first: they travel while the receive is posted. It has a counter for itself:
// while a fiber waits, another one of its thread may start the next collective of the group, whose messages may be
// first.
struct call {
  group_state& group;
  collective_operation operation;
};
class messages {
 public:
  explicit messages(const call& made)
      : group_{made.group},
        operation_{made.operation},
        arrived_{std::move(group_.free_counter())},
        number_{group_.numbers(), operation_},
        tag_{number_.tag()},
        awaited_{count().value()},
        failures_at_start_{count().failed()} {}

  // If an exception leaves the collective, its receives are taken back before their buffers go.
  ~messages() {
    while (arrived_->value() < awaited_) {
      for (std::uint32_t i = 0; i < expected_; ++i) static_cast<void>(group_.device().cancel(tickets_[i]));
      group_.device().progress();
    }
    group_.free_counter() = std::move(arrived_);
  }
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;

  // A receive that `wait` waits for, with all others since the last wait: at most `linear_members_max` of them.
  void expect(std::uint32_t member, std::uint32_t label, void* into, std::size_t bytes) {
    weft::device& device = group_.device();
    const std::uint32_t peer = group_.world_rank(member);
    try {
      for (;;) {
        const status answer = device.post_recv(peer, buffer_ref{into, bytes}, *arrived_,
                                               {.tag = tag_ | label, .engine = group_.engine()});
        if (!answer.is_retry()) {
          tickets_[expected_++] = answer.ticket();
          break;
        }
        device.progress();
      }
    } catch (...) {
      return fail(std::current_exception());
    }
    ++awaited_;
  }
  void send(std::uint32_t member, std::uint32_t label, const void* from, std::size_t bytes) {
    if (failure_ != nullptr) [[unlikely]]
      return post(member, label, failed_message(bytes));
    post(member, label, const_buffer_ref{from, bytes});
  }
  void wait() {
    weft::device& device = group_.device();
    for (std::uint32_t i = 0; i < group_.settings().polls_before_wait && arrived_->value() < awaited_; ++i)
      device.progress();
    if (arrived_->value() < awaited_)
      wait_in(group_, operation_, *arrived_, [&] { return arrived_->value() >= awaited_; });
    expected_ = 0;
    if (arrived_->failed() != failures_at_start_) [[unlikely]] {
      fail(std::make_exception_ptr(
          error{errc::peer_failed, fmt::format("{}: the message of a member has failed: its rank has ended, or a "
                                               "message to it has failed{}",
                                               name_of(operation_), hint_of_other_calls)}));
    }
  }

  // The other members wait for messages of this one: it sends all of them, and throws at the end.
  void fail(std::exception_ptr why) noexcept {
    if (failure_ == nullptr) failure_ = std::move(why);
  }
  [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }
  void finish() const {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
  }

 private:
  [[nodiscard]] counter& count() {
    if (!arrived_) [[unlikely]]
      arrived_ = std::make_unique<counter>(group_.runtime());
    return *arrived_;
  }
  void post(std::uint32_t member, std::uint32_t label, const const_buffer_ref& bytes) {
    weft::device& device = group_.device();
    const std::uint32_t peer = group_.world_rank(member);
    try {
      while (device.post_send(peer, bytes, *arrived_, {.tag = tag_ | label, .engine = group_.engine()}).is_retry())
        device.progress();
    } catch (...) {
      fail(std::current_exception());
    }
  }

  group_state& group_;
  operation operation_;
  std::unique_ptr<counter> arrived_;
  own_number number_;
  std::uint64_t tag_;
  std::uint64_t awaited_;
  std::uint64_t failures_at_start_;
  std::exception_ptr failure_;
  std::uint32_t expected_ = 0;
  std::array<std::uint64_t, linear_members_max> tickets_;  // the receives since the last wait
};

}  // namespace

bool try_set_args(collective_args& args, const collective::parts& call, group_state& group,
                  const collective_options& options) {
  if (group.nodes() != nullptr) return false;
  if (!options.algorithm.empty()) return false;
  if (!group.settings().algorithms.empty() &&
      !base::algorithm_in(group.settings().algorithms, name_of(call.operation)).empty())
    return false;
  args.operation = call.operation;
  args.rank = group.rank();
  args.size = group.size();
  args.is_oversubscribed = group.settings().is_oversubscribed;
  if (call.operation == operation::barrier) return true;
  args.root = call.root;
  args.block_bytes = call.out.bytes();
  const reduction& reduction = call.op;
  args.element_bytes = reduction.element_bytes;
  args.is_commutative = reduction.is_commutative;
  if (!has_short_body(args) || call.root >= group.size()) return false;
  const auto is_usable = [&](const const_buffer_ref& each) {
    return is_ordinary(each) && group.check_memory(each).why == core::memory_refusal::none;
  };
  if (!is_usable(call.out)) return false;
  if (call.operation == operation::broadcast) return true;  // its input is its output
  const const_buffer_ref& input = call.input;
  if (!is_usable(input)) return false;
  args.is_inplace = call.is_inplace;
  const bool is_whole =
      args.element_bytes == args.block_bytes || (args.element_bytes != 0 && args.block_bytes % args.element_bytes == 0);
  if (!is_whole || reduction.combine == nullptr) return false;
  if (args.is_inplace) return true;
  const auto from = reinterpret_cast<std::uintptr_t>(input.address());
  const auto into = reinterpret_cast<std::uintptr_t>(call.out.address());
  const bool overlap = from < into ? into - from < args.block_bytes : from - into < args.block_bytes;
  return input.bytes() == args.block_bytes && !overlap;
}

void run(group_state& group, const collective_args& args, const_buffer_ref from, buffer_ref into,
         const reduction& reduction) {
  const call made{group, args.operation};
  run_short_body<messages>(made, args, args.is_inplace ? into.address() : from.address(), into.address(), reduction);
}

}  // namespace weft::coll::short_collective
