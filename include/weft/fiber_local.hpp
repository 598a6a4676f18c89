// A variable of which each fiber has one of its own, as `thread_local` gives one to each thread.
//
// Cost of a look: what the fiber has is looked through, one after the other: a few are fast.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

namespace fibers {

/// Where the running fiber, or thread, keeps its value of `key`: null until it has one. What is there when it ends is
/// given to `end`. **Errors**: std::bad_alloc.
[[nodiscard]] void*& local_place(std::uint64_t key, void (*end)(void*) noexcept);
/// One that nobody has had.
[[nodiscard]] std::uint64_t next_local_key() noexcept;

}  // namespace fibers

/// Each fiber that looks has a `Type`, made at its first look and destroyed when the fiber ends; so has each thread
/// where no fiber runs. The variable may end before those who looked: their values stay until they end. **Threads**:
/// any. **Blocking**: never.
template <class Type>
class fiber_local {
 public:
  fiber_local() noexcept : key_{fibers::next_local_key()} {}
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  /// The caller's own. **Errors**: std::bad_alloc, and what `Type`'s constructor throws.
  [[nodiscard]] Type& get() {
    if (void* const mine = place(); mine != nullptr) return *static_cast<Type*>(mine);
    auto made = std::make_unique<Type>();  // it may look at others, which moves places
    place() = made.get();
    return *made.release();
  }
  /// The same.
  Type& operator*() { return get(); }
  /// The same, to look at a member.
  Type* operator->() { return &get(); }

 private:
  static_assert(std::is_nothrow_destructible_v<Type>, "its end may not throw");
  [[nodiscard]] void*& place() const {
    return fibers::local_place(key_, [](void* what) noexcept { delete static_cast<Type*>(what); });
  }

  std::uint64_t key_;
};

}  // namespace weft
