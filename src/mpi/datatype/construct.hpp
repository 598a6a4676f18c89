// SPDX-License-Identifier: BSD-3-Clause
// The constructors of derived types, with the arguments of MPI's functions.
//
// All functions: **Blocking**: never. **Threads**: any. **Errors**: `count` for negative counts, `argument` for other
// wrong numbers and for null arrays, `type` for null and absent types, `value_too_large` where a size or a bound does
// not fit in 64 bits, `no_memory`. `out` is left as it was then. The types that they get live on in the new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mpi/datatype/datatype.hpp"
#include "mpi/datatype/error_class.hpp"

namespace weft::mpi {

/// An array of a caller's, of ints or of 64-bit numbers.
class number_list {
 public:
  number_list(const int* numbers) noexcept : ints_{numbers} {}
  number_list(const std::int64_t* numbers) noexcept : longs_{numbers} {}

  [[nodiscard]] bool is_null() const noexcept { return ints_ == nullptr && longs_ == nullptr; }
  std::int64_t operator[](std::int64_t index) const noexcept { return ints_ != nullptr ? ints_[index] : longs_[index]; }

 private:
  const int* ints_ = nullptr;
  const std::int64_t* longs_ = nullptr;
};

/// Whether a function's counts are int, or MPI_Count in functions that end in _c: envelope and contents show it.
enum class width : bool { narrow, wide };

error_class make_dup(const datatype* old, datatype_ref& out) noexcept;
error_class make_contiguous(std::int64_t count, const datatype* old, width form, datatype_ref& out) noexcept;
/// `stride` in extents of the old type.
error_class make_vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype* old,
                        width form, datatype_ref& out) noexcept;
/// `stride` in bytes.
error_class make_hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride, const datatype* old,
                         width form, datatype_ref& out) noexcept;
/// `displacements` in extents of the old type.
error_class make_indexed(std::int64_t count, number_list block_lengths, number_list displacements, const datatype* old,
                         width form, datatype_ref& out) noexcept;
/// `displacements` in bytes.
error_class make_hindexed(std::int64_t count, number_list block_lengths, number_list displacements, const datatype* old,
                          width form, datatype_ref& out) noexcept;
error_class make_indexed_block(std::int64_t count, std::int64_t block_length, number_list displacements,
                               const datatype* old, width form, datatype_ref& out) noexcept;
error_class make_hindexed_block(std::int64_t count, std::int64_t block_length, number_list displacements,
                                const datatype* old, width form, datatype_ref& out) noexcept;
/// `types`: of `count` types; null ones are an error, unless the array is null and the count 0.
error_class make_struct(std::int64_t count, number_list block_lengths, number_list displacements,
                        const datatype* const* types, width form, datatype_ref& out) noexcept;
error_class make_resized(const datatype* old, std::int64_t lower_bound, std::int64_t extent, width form,
                         datatype_ref& out) noexcept;

/// MPI_ORDER_C: the last dimension's elements lie one behind the other; MPI_ORDER_FORTRAN: the first's.
inline constexpr int order_c = 0xc, order_fortran = 0xf;
inline constexpr int distribute_none = 16, distribute_block = 17, distribute_cyclic = 18, distribute_default = 19;

error_class make_subarray(int dimensions, number_list sizes, number_list subsizes, number_list starts, int order,
                          const datatype* old, width form, datatype_ref& out) noexcept;
/// `ranks`, `rank`: of the grid of processes, whose last dimension varies fastest.
struct darray_arguments {
  int ranks;
  int rank;
  int dimensions;
  number_list sizes;
  const int* distributions;
  const int* arguments;
  const int* grid;
  int order;
};
error_class make_darray(const darray_arguments& array, const datatype* old, width form, datatype_ref& out) noexcept;

}  // namespace weft::mpi
