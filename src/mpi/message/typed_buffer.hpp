// SPDX-License-Identifier: BSD-3-Clause
// A buffer as MPI describes it, and the bytes that Weft sends and receives. All of message/ and collective/ gets its
// bytes here.
#pragma once

#include <cstddef>

#include "mpi.h"
#include "mpi/datatype/datatype.hpp"
#include "weft/buffer.hpp"

namespace weft::mpi {

/// Elements to send.
struct typed_bytes {
  const void* address;
  MPI_Count count;
  const datatype& type;

  [[nodiscard]] const_buffer_ref bytes() const noexcept { return type.buffer(address, count); }
};
/// Elements to receive.
struct typed_buffer {
  void* address;
  MPI_Count count;
  const datatype& type;

  [[nodiscard]] buffer_ref bytes() const noexcept { return type.buffer(address, count); }
};

}  // namespace weft::mpi
