// SPDX-License-Identifier: BSD-3-Clause
// Messages in a communicator with hints: with one tag a rank sends at most one to each other rank. As no two have the
// same source, target and tag, their order does not matter, and each hint holds.
#pragma once

#include <mpi.h>

#include <optional>

#include "scene.hpp"

namespace differential {

/// Hints of a communicator.
struct hints {
  bool allow_overtaking = false;
  bool no_any_source = false;
  bool no_any_tag = false;
  bool exact_length = false;
  bool any_source_by_tag = false;  ///< weft_assert_any_source_by_tag, which other libraries ignore
  std::optional<int> vci;          ///< weft_vci, likewise
};

/// All that an exchange keeps to. `by_tag`: its receives take any source.
hints random_hints(random_source& random, bool by_tag);
/// A duplicate of the scene's communicator.
MPI_Comm duplicate_with(scene& here, const hints& wanted);

/// Tags of an exchange.
constexpr int exchange_tags = 4;
/// An exchange between all ranks of `comm`, which has these hints, with tags from `first_tag` on. Threads may exchange
/// in one communicator, each with tags and a scene of its own.
void exchange_by_tag(scene& here, MPI_Comm comm, const hints& given, int first_tag);

}  // namespace differential
