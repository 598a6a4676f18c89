// SPDX-License-Identifier: BSD-3-Clause
// Reductions by an operation of the program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "mpi/objects/operation.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {

/// Weft combines packed elements; the program's function wants them as their datatype has them, with gaps and bounds.
/// Elements without gaps are combined where they lie; others are unpacked into temporary arrays, some at a time, so
/// that gaps of the program's buffers are never written. Its address must not change.
class user_reduction {
 public:
  user_reduction(const operation& op, const datatype& type) noexcept : operation_{op}, type_{type} {}
  user_reduction(const user_reduction&) = delete;
  user_reduction& operator=(const user_reduction&) = delete;

  [[nodiscard]] weft::reduction reduction() noexcept;

 private:
  void combine(const void* input, void* inout, std::size_t count) const;
  // `is_higher`: `input` is of higher ranks than `inout`.
  void combine_unpacked(const std::byte* input, std::byte* inout, std::size_t count, bool is_higher) const;

  operation_ref operation_;
  datatype_ref type_;
};

}  // namespace weft::mpi
