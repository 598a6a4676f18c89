// SPDX-License-Identifier: BSD-3-Clause
// The error classes of MPI: which one an error of Weft becomes, and their names and texts.
#pragma once

#include "weft/error.hpp"

namespace weft::mpi {

/// The class of an error with which an operation completes.
[[nodiscard]] int class_of(weft::errc code) noexcept;
/// The name of a class, as in `MPI_ERR_RANK`, and a sentence about it.
struct class_text {
  const char* name;
  const char* meaning;
};
[[nodiscard]] class_text text_of(int error_class) noexcept;
[[nodiscard]] bool is_predefined_class(int error_class) noexcept;

}  // namespace weft::mpi
