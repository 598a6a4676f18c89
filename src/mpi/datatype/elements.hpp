// SPDX-License-Identifier: BSD-3-Clause
// How many elements, and how many basic ones, a number of received bytes is.
//
// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
#pragma once

#include <cstdint>
#include <optional>

#include "mpi/datatype/datatype.hpp"

namespace weft::mpi {

/// Whole elements of the type (MPI_Get_count); none: the bytes end inside of one.
[[nodiscard]] std::optional<std::int64_t> count_in(const datatype& type, std::int64_t bytes) noexcept;

/// Basic elements (MPI_Get_elements), of which a pair has two; none: the bytes end inside of one.
[[nodiscard]] std::optional<std::int64_t> elements_in(const datatype& type, std::int64_t bytes) noexcept;

/// The bytes of so many basic elements (MPI_Status_set_elements); none: they do not fit in 64 bits, the number is
/// negative, or the type has no data.
[[nodiscard]] std::optional<std::int64_t> bytes_of_elements(const datatype& type, std::int64_t elements) noexcept;

/// The bytes that external32 takes for one element of the type; none: they do not fit.
[[nodiscard]] std::optional<std::int64_t> external_bytes_of(const datatype& type) noexcept;

}  // namespace weft::mpi
