// SPDX-License-Identifier: BSD-3-Clause
// Info objects: pairs of a key and a value, in the order in which the keys were set (MPI 5.0, chapter 10).
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/handle/object.hpp"

namespace weft::mpi {

/// **Threads**: any, several at once. **Errors**: std::bad_alloc.
class info {
 public:
  info() = default;
  info(const info& other) : pairs_{other.pairs()} {}
  info& operator=(const info&) = delete;
  ~info() { kind_ = object_kind::freed; }

  void set(std::string_view key, std::string_view value);
  [[nodiscard]] std::optional<std::string> find(std::string_view key) const;
  /// Whether there was the key.
  bool erase(std::string_view key);
  [[nodiscard]] std::size_t size() const noexcept;
  /// The key of this number, which stays its number until one that was set before it is deleted.
  [[nodiscard]] std::optional<std::string> key(std::size_t index) const;

 private:
  friend info* find_info(MPI_Info handle) noexcept;
  using list = std::vector<std::pair<std::string, std::string>>;
  [[nodiscard]] list pairs() const;

  object_kind kind_ = object_kind::info;  // first: handles of other kinds of objects are found by it
  mutable std::mutex mutex_;
  list pairs_;
};

/// The object that a program has made; null: MPI_INFO_NULL, MPI_INFO_ENV, or no info object.
[[nodiscard]] info* find_info(MPI_Info handle) noexcept;
/// The handle of a new object, which the program frees.
[[nodiscard]] MPI_Info new_handle(std::unique_ptr<info> made) noexcept;

}  // namespace weft::mpi
