// SPDX-License-Identifier: BSD-3-Clause
// Hooks: functions of the user that `progress()` calls (zhou2024, 3.3).
//
// Cost: progress on a device without hooks reads one word; each hook is one virtual call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

namespace weft {

class device;
namespace core {
class hook_list;
}

/// The answer of a hook.
enum class hook_answer : std::uint8_t {
  no_progress,  ///< it did nothing: call it again
  progress,     ///< it did something: call it again
  done,         ///< don't call it again
};

namespace detail {

/// Shared by a hook and its handle.
struct hook_control {
  std::atomic<bool> is_removed{false};
  std::atomic<core::hook_list*> list{nullptr};  // null: it is done, or its device was destroyed
};

class hook_node {
 public:
  hook_node() = default;
  hook_node(const hook_node&) = delete;
  hook_node& operator=(const hook_node&) = delete;
  virtual ~hook_node() = default;
  virtual hook_answer run() = 0;

  hook_node* behind = nullptr;  // the next one in its list
  std::shared_ptr<hook_control> control = std::make_shared<hook_control>();
};

template <class Function>
concept hook_callable =
    std::is_invocable_r_v<hook_answer, Function&> || std::is_invocable_r_v<hook_answer, Function&, device&>;

template <class Function>
class hook_function final : public hook_node {
 public:
  hook_function(Function function, device& dev) : function_{std::move(function)}, device_{&dev} {}
  hook_answer run() override {
    if constexpr (std::is_invocable_v<Function&, device&>) {
      return function_(*device_);
    } else {
      return function_();
    }
  }

 private:
  Function function_;
  device* device_;
};

}  // namespace detail

/// The handle of a hook, made by `device::add_hook`; its destructor removes the hook.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any, one at a time for one handle.
/// **Errors**: none. The device must live while a function of its handles runs; after its end all of them do nothing.
class [[nodiscard]] hook {
 public:
  /// Handle of no hook.
  hook() noexcept = default;
  /// Takes the hook over; the other handle has none afterwards.
  hook(hook&&) noexcept = default;
  /// Calls `remove()`, then takes the hook of `other` over. **Blocking**: as `remove`.
  hook& operator=(hook&& other) noexcept {
    if (this != &other) {
      remove();
      control_ = std::move(other.control_);
    }
    return *this;
  }
  hook(const hook&) = delete;
  hook& operator=(const hook&) = delete;
  /// Calls `remove()`. **Blocking**: as `remove`.
  ~hook() { remove(); }

  /// Removes the hook: after the return its function does not run any more. One of the next calls of `progress()`
  /// destroys the function. **Blocking**: until a call of `progress()` returns that another thread has begun on the
  /// device; never inside a hook or handler of the same device. Do not call it inside a hook or handler of another
  /// device: two threads that do so may wait for each other for ever.
  void remove() noexcept;

  /// Whether the hook has answered `done`, was removed, or was destroyed with its device. Its function may be destroyed
  /// a little later.
  [[nodiscard]] bool is_over() const noexcept {
    // [hook.over] acquire <- [hook.end]: what the function did.
    return control_ == nullptr || control_->list.load(std::memory_order_acquire) == nullptr;
  }

  /// Leaves the hook to the device, which keeps it until it answers `done` or the device is destroyed.
  void detach() noexcept { control_.reset(); }

 private:
  friend class device;
  friend class run_loop;
  explicit hook(std::shared_ptr<detail::hook_control> control) noexcept : control_{std::move(control)} {}
  [[nodiscard]] core::hook_list* list() const noexcept;  // null: it is over

  std::shared_ptr<detail::hook_control> control_;
};

}  // namespace weft
