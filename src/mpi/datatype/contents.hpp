// SPDX-License-Identifier: BSD-3-Clause
// Envelope and contents: how a datatype was constructed.
//
// All functions: **Blocking**: never. **Threads**: any.
#pragma once

#include <cstdint>
#include <span>

#include "mpi/datatype/datatype.hpp"
#include "mpi/datatype/error_class.hpp"

namespace weft::mpi {

/// How many arguments of each kind the constructor had. `large_counts`: of the wide form.
struct type_envelope {
  std::int64_t integers = 0;
  std::int64_t addresses = 0;
  std::int64_t large_counts = 0;
  std::int64_t types = 0;
  combiner kind = combiner::named;
};

[[nodiscard]] type_envelope envelope_of(const datatype& type) noexcept;

/// The arguments, in the order of the standard (5.1.13). The caller owns a reference to each type, which predefined
/// ones do without. **Errors**: `type` for a named type; `argument` where a span is shorter than the envelope says.
error_class contents_of(const datatype& type, std::span<int> integers, std::span<std::int64_t> addresses,
                        std::span<std::int64_t> large_counts, std::span<const datatype*> types) noexcept;

}  // namespace weft::mpi
