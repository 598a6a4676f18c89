// SPDX-License-Identifier: BSD-3-Clause
// The arrays of features that nodes make and send, four fields a sample, and the arithmetic on them.
//
// Cost of class A: an array is 3.5 MB. A window filter reads both arrays and writes one of them; where their lengths
// differ, which is so for most inputs, an array is read and written once more before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "dt/graph.hpp"

namespace weft_dt {

inline constexpr std::size_t fields = 4;  ///< of a sample

class array_store;

struct free_memory {
  void operator()(double* memory) const noexcept { std::free(memory); }
};
using array_memory = std::unique_ptr<double[], free_memory>;

/// An array of at most `array_store::length_max()` values. Its memory returns to its store. Movable.
class feature_array {
 public:
  feature_array() = default;
  feature_array(feature_array&& other) noexcept
      : home_{std::exchange(other.home_, nullptr)}, memory_{std::move(other.memory_)}, length_{other.length_} {}
  feature_array& operator=(feature_array&& other) noexcept;
  ~feature_array();

  [[nodiscard]] std::span<double> values() noexcept { return {memory_.get(), length_}; }
  [[nodiscard]] std::span<const double> values() const noexcept { return {memory_.get(), length_}; }
  [[nodiscard]] std::size_t length() const noexcept { return length_; }

 private:
  friend class array_store;
  feature_array(array_store& home, array_memory memory, std::size_t length) noexcept
      : home_{&home}, memory_{std::move(memory)}, length_{length} {}

  array_store* home_ = nullptr;
  array_memory memory_;
  std::size_t length_ = 0;
};

/// Memory of arrays, which is used again, as the system clears each page that it gives. Long arrays ask for huge pages.
/// Outlives its arrays. **Threads**: any; the lock is held for a few instructions.
class array_store {
 public:
  explicit array_store(graph_class size_class) noexcept;

  /// The length of the longest array of the class.
  [[nodiscard]] std::size_t length_max() const noexcept { return length_max_; }
  /// Takes memory for `count` arrays from the system. **Errors**: `std::bad_alloc`.
  void reserve(std::size_t count);
  /// An array whose values are not set yet. `length`: at most `length_max()`. **Errors**: `std::bad_alloc`.
  [[nodiscard]] feature_array get(std::size_t length);

 private:
  friend class feature_array;
  void put(array_memory memory) noexcept;

  const std::size_t length_max_;
  std::mutex guard_;  // of the members below
  std::size_t made_ = 0;
  std::vector<array_memory> free_;
};

/// The length of the array that source `id` makes.
[[nodiscard]] std::size_t source_length(graph_class size_class, std::uint32_t id) noexcept;
/// The length of the array that each node sends.
[[nodiscard]] std::vector<std::size_t> array_lengths(const graph& all, graph_class size_class);
/// Makes the array of source `id`, whose length `values` has.
void fill_source(std::span<double> values, std::uint32_t id) noexcept;
/// An empty result of a comparator.
[[nodiscard]] feature_array empty_result(array_store& store, graph_class size_class);
/// Combines comparator `id`'s result so far with an input. `result` may get longer.
void filter(array_store& store, feature_array& result, std::span<const double> input, std::uint32_t id);
/// Makes the result of `inputs` inputs complete.
void divide(std::span<double> result, std::size_t inputs) noexcept;
/// What sink `id` adds up for an input.
[[nodiscard]] std::int64_t add_up(std::span<const double> input, std::uint32_t id) noexcept;
/// The checksum of sink `id`, from the sum of `add_up` over all inputs.
[[nodiscard]] inline std::int64_t sink_checksum(std::int64_t sum, std::size_t inputs, std::uint32_t id) noexcept {
  return sum / static_cast<std::int64_t>(inputs) * (std::int64_t{id} + 1);
}

}  // namespace weft_dt
