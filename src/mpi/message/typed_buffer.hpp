// A buffer as MPI describes it, and the bytes that Weft sends and receives. All of message/ and collective/ gets its
// bytes here.
#pragma once

#include <cstddef>

#include "mpi.h"
#include "mpi/objects/basic_type.hpp"
#include "weft/buffer.hpp"

namespace weft::mpi {

/// Elements to send.
struct typed_bytes {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;

  [[nodiscard]] const_buffer_ref bytes() const noexcept {
    return {address, static_cast<std::size_t>(count) * basic_type_of(type).extent};
  }
};
/// Elements to receive.
struct typed_buffer {
  void* address;
  MPI_Count count;
  MPI_Datatype type;

  [[nodiscard]] buffer_ref bytes() const noexcept {
    return {address, static_cast<std::size_t>(count) * basic_type_of(type).extent};
  }
};

}  // namespace weft::mpi
