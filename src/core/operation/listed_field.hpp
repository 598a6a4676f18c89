// SPDX-License-Identifier: BSD-3-Clause
// A field of an operation that other threads may read at any time.
#pragma once

#include <atomic>

namespace weft::core {

/// The operation's owner writes it; threads that end all operations with a rank, cancel all of an object, or list them
/// read it. They find the operation again by its ticket before they act.
template <class T>
class listed_field {
 public:
  listed_field& operator=(T value) noexcept {
    // [operation.field] relaxed -> [operation.field_of]: no other thread acts on it before [operation.reach].
    value_.store(value, std::memory_order_relaxed);
    return *this;
  }
  // [operation.field_of] relaxed <- [operation.field]: the same.
  operator T() const noexcept { return value_.load(std::memory_order_relaxed); }  // NOLINT: as the value itself

 private:
  std::atomic<T> value_{};
};

}  // namespace weft::core
