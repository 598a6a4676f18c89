// SPDX-License-Identifier: BSD-3-Clause
// The data of a case, and its log.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "random_source.hpp"

namespace differential {

/// A case on one communicator. All its ranks draw equal numbers from `random` in one order, so each knows the whole
/// program.
/// **Threads**: one.
struct scene {
  scene(std::uint64_t seed, MPI_Comm of, std::FILE* to);

  /// A line that every MPI library has to write alike.
  void log(const char* format, ...) __attribute__((format(printf, 2, 3)));
  /// A line for an error, where the standard determines something else.
  void expect(bool is_right, const char* format, ...) __attribute__((format(printf, 3, 4)));
  /// Ends the job with such a line unless the call succeeded: others may wait for it.
  void must(int result, const char* call);
  /// Logs the class of an error, and expects it to be `wanted`.
  void must_be(int result, int wanted, const char* call);

  random_source random;
  random_source own;  ///< of this rank alone
  MPI_Comm comm;
  int rank = 0;
  int size = 0;
  std::FILE* to;
  std::string text;  ///< not written to `to` yet
  int wrongs = 0;
};

/// Parts of cases that are left out, as cases and kinds of communicators are.
extern std::vector<std::string> left_out;
bool is_left_out(const char* name);

/// The name of an error's class, of the classes that cases cause.
std::string class_name(int error);
std::uint64_t hash_of(const void* bytes, std::size_t count);

}  // namespace differential
