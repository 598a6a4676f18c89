// SPDX-License-Identifier: BSD-3-Clause
// Values whose reductions are exact in each type, so that the order of operations does not matter.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "basic_types.hpp"
#include "random_source.hpp"

namespace differential {

/// A predefined operation on a type that it takes.
struct typed_operation {
  const char* name;
  MPI_Op op;
  int basic;
  long (*apply)(long, long);
  long least, greatest;  ///< of values

  [[nodiscard]] long value(std::uint64_t stream, int rank, int index) const {
    const std::uint64_t bits =
        mix(stream + static_cast<std::uint64_t>(rank) * 100000 + static_cast<std::uint64_t>(index));
    return least + static_cast<long>(bits % static_cast<std::uint64_t>(greatest - least + 1));
  }
};
typed_operation draw_operation(random_source& random);

void store(void* to, const basic_type& type, long value);
long load(const void* from, const basic_type& type);

}  // namespace differential
