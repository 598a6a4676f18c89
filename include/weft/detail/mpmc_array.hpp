// An array that many threads read while it is written and grown.
// Source: yan2025-lci 5.1.1 (MPMC array): lock-free reads, writes under a lock, doubling, old arrays kept till the end.
//
// Who: any thread may call any member at any time; construction and destruction are alone.
//
// Progress: read and size are wait-free, two loads; append and write take a lock. Linearization: a read at its load of
// the array's address (a write that comes between that and its load of the cell is concurrent with it); a write at its
// store of the cell, append at its store of the size. Old arrays are kept, because a reader may still be in one;
// doubling makes them as large together as the newest. Model test: tests/model/table_test.cpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>

#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::detail {

template <class T, class Atomics = std_atomics>
class mpmc_array {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "a cell is one atomic word");

 public:
  /// Room for `capacity` elements before the first growth; nothing is allocated before the first append.
  explicit mpmc_array(std::size_t capacity = 16) noexcept : first_capacity_(std::max<std::size_t>(capacity, 1)) {}
  mpmc_array(const mpmc_array&) = delete;
  mpmc_array& operator=(const mpmc_array&) = delete;
  ~mpmc_array() {
    // [mpmc_array.destruct] relaxed <- [mpmc_array.grow]: alone.
    array* newest = newest_.load(std::memory_order_relaxed);
    while (newest != nullptr) {
      array* older = newest->older;
      support::release_zeroed(newest, bytes_of(newest->capacity));
      newest = older;
    }
  }

  /// The index of the new element. Throws std::bad_alloc.
  std::size_t append(T value) {
    const std::lock_guard<mutex> lock(mutex_);
    // [mpmc_array.locked] relaxed <- [mpmc_array.publish]: under the lock.
    const std::size_t index = size_.load(std::memory_order_relaxed);
    array& target = with_room_for(index);
    // [mpmc_array.write] release -> [mpmc_array.read], [mpmc_array.copy]: carries what the value refers to.
    target.cells()[index].store(value, std::memory_order_release);
    // [mpmc_array.publish] release -> [mpmc_array.size], [mpmc_array.locked]: whoever sees the size sees the element.
    size_.store(index + 1, std::memory_order_release);
    return index;
  }

  /// Replaces the element at `index`, which is below the size.
  void write(std::size_t index, T value) noexcept {
    const std::lock_guard<mutex> lock(mutex_);
    // [mpmc_array.newest] relaxed <- [mpmc_array.grow]: under the lock.
    array* target = newest_.load(std::memory_order_relaxed);
    // [mpmc_array.write] release -> [mpmc_array.read], [mpmc_array.copy]: carries what the value refers to.
    target->cells()[index].store(value, std::memory_order_release);
  }

  /// The element at `index`; T{} where this thread knows of none.
  [[nodiscard]] T read(std::size_t index) const noexcept {
    // [mpmc_array.current] acquire <- [mpmc_array.grow]: the elements were copied into it.
    array* current = newest_.load(std::memory_order_acquire);
    if (current == nullptr || index >= current->capacity) return T{};
    // [mpmc_array.read] acquire <- [mpmc_array.write]: what the value refers to is visible.
    return current->cells()[index].load(std::memory_order_acquire);
  }

  [[nodiscard]] std::size_t size() const noexcept {
    // [mpmc_array.size] acquire <- [mpmc_array.publish]: all elements below it are visible.
    return size_.load(std::memory_order_acquire);
  }

 private:
  using support = atomics_support<Atomics>;
  using mutex = typename support::mutex;
  using cell = typename Atomics::template atomic<T>;
  static_assert(sizeof(cell) == sizeof(T), "zeroed memory is used as atomics");

  struct alignas(16) array {
    std::size_t capacity;
    array* older;
    cell* cells() noexcept { return reinterpret_cast<cell*>(this + 1); }
  };

  static std::size_t bytes_of(std::size_t capacity) noexcept { return sizeof(array) + capacity * sizeof(cell); }

  // Under the lock. The new array is private until it is published, so the order of copying is free.
  array& with_room_for(std::size_t index) {
    // [mpmc_array.newest] relaxed <- [mpmc_array.grow]: under the lock.
    array* old = newest_.load(std::memory_order_relaxed);
    if (old != nullptr && index < old->capacity) return *old;
    const std::size_t capacity = old == nullptr ? first_capacity_ : 2 * old->capacity;
    void* memory = support::allocate_zeroed(bytes_of(capacity));
    if (memory == nullptr) throw std::bad_alloc();
    array* grown = new (memory) array{capacity, old};
    for (std::size_t i = 0; i < index; ++i) {
      // [mpmc_array.copy] relaxed <- [mpmc_array.write]: under the lock; the growth publishes the copies.
      grown->cells()[i].store(old->cells()[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
    // [mpmc_array.grow] release -> [mpmc_array.current], [mpmc_array.newest], [mpmc_array.destruct]: carries the
    // copies.
    newest_.store(grown, std::memory_order_release);
    return *grown;
  }

  const std::size_t first_capacity_;
  typename Atomics::template atomic<array*> newest_{nullptr};
  typename Atomics::template atomic<std::size_t> size_{0};
  mutex mutex_;
};

}  // namespace weft::detail
