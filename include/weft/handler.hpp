// A completion object that calls a function.
//
// Cost: a signal is the virtual call of every completion object and the function itself, inlined into it.
#pragma once

#include <type_traits>

#include "weft/completion.hpp"

namespace weft {

/// Calls `function(completion_record&&)` for each record, state included: `weft::handler on_arrival{rt, [&](auto&& m) {
/// … }};`
///
/// The function runs inside progress, on the thread that called it. It may post (and get *retry*) on any device and
/// may keep the record by moving from it; it may not block and must not throw. No lock of the library is held while
/// it runs; the device that delivers answers other threads' `progress()` with false meanwhile. A function that returns
/// `completion::answer` may answer *full*, having left the record untouched.
/// **Threads**: called by any thread in progress, several at once. **Source**: yan2025-lci, 4.2.6.
template <class Function>
class handler final : public completion {
 public:
  /// Keeps `function`, by value.
  handler(weft::runtime& owner, Function function) : completion{owner}, function_{std::move(function)} {}

  [[nodiscard]] answer signal(completion_record&& record) noexcept override {
    weft::runtime& owner = runtime();
    const answer out = call(std::move(record));
    signalled(owner, this);
    return out;
  }

 private:
  answer call(completion_record&& record) noexcept {
    if constexpr (std::is_same_v<std::invoke_result_t<Function&, completion_record&&>, answer>) {
      return function_(std::move(record));
    } else {
      completion_record consumed{std::move(record)};
      function_(std::move(consumed));
      return answer::taken;
    }
  }

  Function function_;
};

}  // namespace weft
