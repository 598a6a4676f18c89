// SPDX-License-Identifier: BSD-3-Clause
// What a Fortran library on top of this one tells it of its compiler (MPI 5.0, 20.4.1). This library only keeps it: the
// datatypes of Fortran stay absent.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "mpi/info/info.hpp"

namespace weft::mpi {

/// Of a process. **Threads**: any, several at once. All functions return an error class.
class fortran_properties {
 public:
  /// Only the first call has an effect, of each of both functions.
  int set_info(const info* from) noexcept;
  int set_booleans(int bytes, const void* true_value, const void* false_value) noexcept;

  int get_info(MPI_Info* made) noexcept;
  int get_booleans(int bytes, void* true_value, void* false_value, int* is_set) noexcept;

 private:
  static constexpr std::size_t bytes_max = 16;
  std::mutex mutex_;  // of all that follows
  std::unique_ptr<const info> info_;
  std::size_t bytes_ = 0;  // of a boolean; 0: not set
  std::array<std::byte, bytes_max> true_{};
  std::array<std::byte, bytes_max> false_{};
};

}  // namespace weft::mpi
