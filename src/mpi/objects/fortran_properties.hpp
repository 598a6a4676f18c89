// SPDX-License-Identifier: BSD-3-Clause
// The properties of a compiler of Fortran, as a library for Fortran on top of this one sets them (MPI 5.0, 20.4.1). The
// datatypes of Fortran's default kinds have their sizes from then on.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>

#include "mpi/info/info.hpp"

namespace weft::mpi {

/// Properties of a process. **Threads**: any, several at once. All functions return an error class.
class fortran_properties {
 public:
  /// Only the first call has an effect, of each of both functions. Datatypes of a kind that the info has no size for
  /// stay without one.
  int set_info(const info* from) noexcept;
  int set_booleans(int bytes, const void* true_value, const void* false_value) noexcept;

  int get_info(MPI_Info* made) noexcept;
  int get_booleans(int bytes, void* true_value, void* false_value, int* is_set) noexcept;

 private:
  static constexpr std::size_t bytes_max = 16;
  std::mutex mutex_;  // guards all that follows
  std::unique_ptr<const info> info_;
  std::size_t bytes_ = 0;  // the size of a boolean; 0: not set
  std::array<std::byte, bytes_max> true_{};
  std::array<std::byte, bytes_max> false_{};
};

}  // namespace weft::mpi
