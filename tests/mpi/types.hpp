// SPDX-License-Identifier: BSD-3-Clause
// Datatypes in tests: made, committed, and freed with their owner.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "mpi.h"

namespace weft::test {

class type_owner {
 public:
  /// `make(&handle)` makes it.
  template <class Make>
  explicit type_owner(const Make& make) {
    EXPECT_EQ(make(&handle_), MPI_SUCCESS);
    EXPECT_EQ(MPI_Type_commit(&handle_), MPI_SUCCESS);
  }
  type_owner(type_owner&& other) noexcept : handle_{std::exchange(other.handle_, MPI_DATATYPE_NULL)} {}
  ~type_owner() {
    if (handle_ == MPI_DATATYPE_NULL) return;
    EXPECT_EQ(MPI_Type_free(&handle_), MPI_SUCCESS);
  }

  operator MPI_Datatype() const noexcept { return handle_; }

 private:
  MPI_Datatype handle_ = MPI_DATATYPE_NULL;
};

inline type_owner vector_type(int count, int length, int stride, MPI_Datatype old) {
  return type_owner{[&](MPI_Datatype* to) { return MPI_Type_vector(count, length, stride, old, to); }};
}

inline std::string name_of(MPI_Datatype type) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = -1;
  EXPECT_EQ(MPI_Type_get_name(type, name, &length), MPI_SUCCESS);
  EXPECT_EQ(std::string{name}.size(), static_cast<std::size_t>(length));
  return name;
}

}  // namespace weft::test
