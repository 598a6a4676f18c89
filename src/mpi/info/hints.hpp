// The hints of communicators that this library knows (MPI 5.0, 7.4.4): an assertion is one of the user's, which allows
// the library to do less.
#pragma once

#include "mpi.h"

namespace weft::mpi {

class info;

struct communicator_hints {
  bool allow_overtaking = false;  ///< messages need not be matched in the order in which they were sent
  bool no_any_source = false;     ///< no receive has MPI_ANY_SOURCE
  bool no_any_tag = false;        ///< no receive has MPI_ANY_TAG
  bool exact_length = false;      ///< a message is as long as its receive buffer

  /// Whether its engine may be an unordered one.
  [[nodiscard]] bool allow_unordered() const noexcept { return allow_overtaking && no_any_source && no_any_tag; }
};

/// `before` with the hints of an info object, which may be null: values but "true" and "false" change nothing.
/// **Errors**: std::bad_alloc.
[[nodiscard]] communicator_hints read_hints(const info* from, communicator_hints before = {});
/// A new info object with these hints alone, all of them.
int report_hints(const communicator_hints& of, MPI_Info* made) noexcept;

}  // namespace weft::mpi
