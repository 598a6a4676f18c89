// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/unwinding.hpp"

#include "core/protocol/cancel.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::unwinding {

bool progress_everywhere(device_state& dev) noexcept {
  const bool moved = dev.progress();
  return dev.others().poll_all() != 0 || moved;
}
namespace {

// Whether an operation waits in `engine`, or has announced its buffer there.
bool has_posted(runtime_state& runtime, const engine_state& engine) noexcept {
  bool out = false;
  runtime.operations().each([&](const operation_state& each) {
    // [ended.posted] acquire <- [operation.reach]: the operation's engine.
    const step current = each.next.load(std::memory_order_acquire);
    const bool is_posted = current == step::wait_for_match || current == step::try_match ||
                           current == step::send_ready || current == step::wait_for_sender;
    // [ended.in] relaxed: published by the step; any other engine's address is ignored.
    out = out || (is_posted && each.receiving.engine.load(std::memory_order_relaxed) == &engine);
  });
  return out;
}

}  // namespace

// Waits also until no thread is inside a signal: the program has not seen it, and the object is about to change its
// class.
void end_signals(runtime_state& runtime, completion& object, void (*make_room)(completion& full)) noexcept {
  if (!base::is_unwinding() || runtime.is_copy() || object.outstanding() == 0) return;
  const auto cancel_more = [&] {
    cancel::all(runtime.devices().standard(), {.target = &object, .is_told = false});
    if (make_room != nullptr) make_room(object);
    return object.outstanding() == 0;
  };
  static_cast<void>(wait(runtime.devices().standard(), cancel_more));  // the base's destructor looks
}

void cancel_signals(runtime_state& runtime, const completion& object) noexcept {
  if (!base::is_unwinding() || promise::open(object) == 0) return;
  cancel::all(runtime.devices().standard(), {.target = &object, .is_told = false});
}

void end_posted(runtime_state& runtime, engine_state& engine) noexcept {
  if (!base::is_unwinding() || !has_posted(runtime, engine)) return;
  const auto cancel_more = [&] {
    cancel::all(runtime.devices().standard(), {.engine = &engine});
    return !has_posted(runtime, engine);
  };
  static_cast<void>(wait(runtime.devices().standard(), cancel_more));  // `end_of_engine` looks
}

}  // namespace weft::core::unwinding
