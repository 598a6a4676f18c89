// Functions of the user's that progress calls (zhou2024, 3.3).
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

/// What a hook answers.
enum class hook_answer : std::uint8_t {
  no_progress,  ///< nothing to do yet: ask again
  progress,     ///< something was done, and more is to come: ask again
  done,         ///< don't ask again
};

namespace detail {

/// What a hook and its handle share.
struct hook_control {
  std::atomic<bool> is_removed{false};
  std::atomic<core::hook_list*> list{nullptr};  // null: it is done, or its device is gone
};

class hook_node {
 public:
  hook_node() = default;
  hook_node(const hook_node&) = delete;
  hook_node& operator=(const hook_node&) = delete;
  virtual ~hook_node() = default;
  virtual hook_answer run() = 0;

  hook_node* behind = nullptr;  // in the list that it is in
  std::shared_ptr<hook_control> control = std::make_shared<hook_control>();
};

template <class Function>
class hook_function final : public hook_node {
 public:
  hook_function(Function function, device& through) : function_{std::move(function)}, through_{&through} {}
  hook_answer run() override {
    if constexpr (std::is_invocable_v<Function&, device&>) {
      return function_(*through_);
    } else {
      return function_();
    }
  }

 private:
  Function function_;
  device* through_;
};

}  // namespace detail

/// Keeps a function in its device; removes it when it goes.
class [[nodiscard]] hook {
 public:
  /// Of no function.
  hook() noexcept = default;
  /// Takes the function over; the other has none then.
  hook(hook&&) noexcept = default;
  /// The same, after `remove()` of its own.
  hook& operator=(hook&& other) noexcept {
    if (this != &other) {
      remove();
      control_ = std::move(other.control_);
    }
    return *this;
  }
  hook(const hook&) = delete;
  hook& operator=(const hook&) = delete;
  ~hook() { remove(); }

  /// Once this returns, the function does not run and never will. What it holds goes with one of the next calls of
  /// progress. **Blocking**: until a call of progress on the device that another thread has begun is over; inside a
  /// hook or handler of the same device, never. Not inside one of another device: two that do so may wait for each
  /// other.
  /// **Threads**: any, one at a time for one handle, while the device lives; after that it does nothing.
  void remove() noexcept;

  /// Whether it is done, removed, or gone with its device; what it holds may still be about to go. **Blocking**: never.
  /// **Threads**: as for `remove`.
  [[nodiscard]] bool is_over() const noexcept {
    // [hook.over] acquire <- [hook.end]: what the function did.
    return control_ == nullptr || control_->list.load(std::memory_order_acquire) == nullptr;
  }

  /// Leaves it to the device, which keeps it until it is done or the device goes.
  void detach() noexcept { control_.reset(); }

 private:
  friend class device;
  explicit hook(std::shared_ptr<detail::hook_control> control) noexcept : control_{std::move(control)} {}

  std::shared_ptr<detail::hook_control> control_;
};

}  // namespace weft
