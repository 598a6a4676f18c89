// SPDX-License-Identifier: BSD-3-Clause
// Derived datatypes, each with the type map that the standard gives it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "random_source.hpp"
#include "signature.hpp"

namespace differential {

struct item {
  long at;
  int basic;
};

/// A datatype, and what the standard says of it. Items don't overlap, also not those of several in a row. Owns the
/// datatype unless that is predefined.
class layout {
 public:
  /// A basic type.
  explicit layout(int basic);
  layout(layout&& other) noexcept;
  layout& operator=(layout&&) = delete;
  ~layout();

  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::vector<item> map;  ///< in the order of the signature
  long lower = 0;
  long extent = 0;
  long alignment = 1;  ///< of all items and of the extent
  std::string text;    ///< how it is made, for messages

  [[nodiscard]] long true_lower() const;
  [[nodiscard]] long true_upper() const;
  [[nodiscard]] std::size_t size() const;

  /// Takes the place of this datatype, which is freed.
  void become(MPI_Datatype made, std::string how);

 private:
  friend class layout_maker;
  layout() = default;
  bool is_owned_ = false;
};

/// A datatype of this signature, whose layout is drawn by chance. Not committed.
layout random_layout(random_source& random, const signature& of);

}  // namespace differential
