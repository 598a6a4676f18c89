// SPDX-License-Identifier: BSD-3-Clause
// A completion object that calls a function.
//
// Cost: a signal is the virtual call of every completion object and the function itself, inlined into it.
#pragma once

#include <type_traits>

#include "weft/completion.hpp"

namespace weft {

/// Calls `function(completion_record&&)` for each record: `weft::handler on_arrival{rt, [&](auto&& m) { … }};`
/// As a member of a class: `weft::handler<std::function<void(weft::completion_record&&)>> on_arrival_{rt_, …};`
/// A function with a second parameter, `device&`, gets the device that runs it: the one whose `progress()` delivers the
/// message, or through which a post goes that is complete when it returns. It may be used for posts and replies.
///
/// The function runs inside `progress()`, or inside a post, in the thread that called it. Several threads may run it
/// together: shared data needs a lock that is held briefly, or atomics. It may post on any device
/// (and get *retry*); `device::reply` answers a message and never says *retry*. It may keep the record by moving from
/// it. It may not block: calls that wait throw `invalid_state`, and on a fiber's stack no other fiber runs. It must not
/// throw: that ends the process with a line that has the exception's text. If it posts what is complete at once, the
/// next signal is given inside that post, four deep at most, and by `progress()` beyond. The library holds no lock
/// while the function runs; meanwhile other threads' `progress()` on the delivering device returns false. A function
/// that returns `completion::answer` may answer *full* before it has acted; it must leave the record untouched then,
/// and gets it again.
/// **Blocking**: may not block. **Threads**: any thread calls it, several at once. **Errors**: may not throw.
/// **Source**: yan2025-lci, 4.2.6.
template <class Function>
class handler final : public completion {
 public:
  /// Keeps a copy of `function`. **Blocking**: never. **Threads**: any. **Errors**: exceptions of the copy.
  handler(weft::runtime& owner, Function function) : completion{owner}, function_{std::move(function)} {}
  ~handler() override { end_signals(); }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override {
    weft::runtime& owner = runtime();
    answer out = answer::taken;
    try {
      if constexpr (std::is_invocable_v<Function&, completion_record&&> ||
                    std::is_invocable_v<Function&, completion_record&>) {
        out = call(std::move(record));
      } else {
        out = call(std::move(record), signalling_device());
      }
    } catch (...) {
      function_threw();
    }
    signalled(owner, this);
    return out;
  }

 private:
  template <class... Device>
  answer call(completion_record&& record, Device&... devices) {
    if constexpr (!std::is_invocable_v<Function&, completion_record&&, Device&...>) {
      constexpr bool takes_record = std::is_invocable_v<Function&, completion_record&, Device&...>;
      static_assert(takes_record,
                    "a handler's function takes a record, and a device if it wants to: "
                    "[&](weft::completion_record&& message, weft::device& dev) { ... }");
      if constexpr (takes_record) {
        completion_record consumed{std::move(record)};
        function_(consumed, devices...);
      }
      return answer::taken;
    } else if constexpr (std::is_same_v<std::invoke_result_t<Function&, completion_record&&, Device&...>, answer>) {
      return function_(std::move(record), devices...);
    } else {
      completion_record consumed{std::move(record)};
      function_(std::move(consumed), devices...);
      return answer::taken;
    }
  }

  Function function_;
};

}  // namespace weft
