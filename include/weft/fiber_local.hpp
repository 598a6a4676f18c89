// SPDX-License-Identifier: BSD-3-Clause
// A variable of which each fiber has its own value, as each thread has of a `thread_local` one.
//
// Cost of an access: a search through the fiber's variables, one after the other. A few are fast.
#pragma once

#include <cstdint>
#include <memory>
#include <type_traits>

namespace weft {

namespace fibers {

/// The pointer that the running fiber, or thread, keeps for `key`: null at first. When the fiber or thread ends, a
/// pointer that is not null is given to `end`. **Errors**: std::bad_alloc.
[[nodiscard]] void*& local_pointer(std::uint64_t key, void (*end)(void*) noexcept);
/// A key that was never used before.
[[nodiscard]] std::uint64_t next_local_key() noexcept;

}  // namespace fibers

/// Gives each fiber a `Type` of its own, made at the first access and destroyed when the fiber ends; outside of fibers,
/// each thread. A `fiber_local` may be destroyed before the fibers that used it: their values live until they end.
///
/// All functions: **Blocking**: never, but for `Type`'s constructor. **Threads**: any. **Errors**: accesses throw
/// `std::bad_alloc`, and exceptions of `Type`'s constructor.
template <class Type>
class fiber_local {
 public:
  fiber_local() noexcept : key_{fibers::next_local_key()} {}
  fiber_local(const fiber_local&) = delete;
  fiber_local& operator=(const fiber_local&) = delete;

  /// The value of the calling fiber or thread.
  [[nodiscard]] Type& get() {
    if (void* const mine = pointer(); mine != nullptr) return *static_cast<Type*>(mine);
    auto made = std::make_unique<Type>();  // its constructor may use others, which moves pointers
    pointer() = made.get();
    return *made.release();
  }
  /// The value of the calling fiber or thread.
  Type& operator*() { return get(); }
  /// Its members.
  Type* operator->() { return &get(); }

 private:
  static_assert(std::is_nothrow_destructible_v<Type>, "its end may not throw");
  [[nodiscard]] void*& pointer() const {
    return fibers::local_pointer(key_, [](void* value) noexcept { delete static_cast<Type*>(value); });
  }

  std::uint64_t key_;
};

}  // namespace weft
