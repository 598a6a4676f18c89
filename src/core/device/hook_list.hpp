// SPDX-License-Identifier: BSD-3-Clause
// The hooks of a device: added by any thread, run by the one that is inside the device's poll gate.
//
// Cost if there are none: one read of a word that is not written then. Adding allocates, and is one exchange.
// Progress: adding is lock-free; removing awaits a call that is under way. A new hook first runs in the next call of
// progress, so a hook that adds another one never waits for it to run.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/intrusive_stack.hpp"
#include "core/device/awaited_end.hpp"
#include "core/device/poll_gate.hpp"
#include "weft/hook.hpp"

namespace weft::core {

class device_state;
class hook_list;

/// Removes the handle's hook, which is in `list`. **Threads**: any.
class end_of_hook final : public awaited_end {
 public:
  end_of_hook(std::shared_ptr<detail::hook_control>& handle, hook_list& list) noexcept;
  [[nodiscard]] bool go_on() noexcept override;

 private:
  std::shared_ptr<detail::hook_control>* handle_;
  const poll_gate* gate_;
  std::uint64_t before_;
};

class hook_list {
 public:
  explicit hook_list(poll_gate& gate) noexcept : gate_{&gate} {}
  ~hook_list();
  hook_list(const hook_list&) = delete;
  hook_list& operator=(const hook_list&) = delete;

  [[nodiscard]] const poll_gate& gate() const noexcept { return *gate_; }
  [[nodiscard]] bool is_empty() const noexcept {
    // [hooks.count] relaxed: the next call finds what is missed now.
    return count_.load(std::memory_order_relaxed) == 0;
  }

  /// **Threads**: any.
  void add(std::unique_ptr<detail::hook_node> made) noexcept;

  /// Runs each hook once; returns how many have made progress. **Threads**: the one inside the gate.
  [[nodiscard]] unsigned run(device_state& dev) noexcept;

  /// Destroys all hooks without running them. **Threads**: no other one may use the device.
  void clear() noexcept;

 private:
  void take_in() noexcept;
  void drop(detail::hook_node*& link) noexcept;

  poll_gate* gate_;
  std::atomic<std::uint32_t> count_{0};
  base::intrusive_stack<detail::hook_node> added_;
  // Inside the gate, in the order in which they were added.
  detail::hook_node* first_ = nullptr;
  detail::hook_node** end_ = &first_;
};

}  // namespace weft::core
