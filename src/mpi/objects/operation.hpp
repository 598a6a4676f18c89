// The predefined operations of reductions.
#pragma once

#include <optional>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {

/// How `op` combines elements of `type`; nothing if it does not take them (MPI 5.0, 6.9.2).
[[nodiscard]] std::optional<weft::reduction> reduction_of(MPI_Op op, const datatype& type) noexcept;

}  // namespace weft::mpi
