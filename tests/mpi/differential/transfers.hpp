// SPDX-License-Identifier: BSD-3-Clause
// Messages between pairs of ranks, which all ranks know from the seed.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

#include "scene.hpp"
#include "side.hpp"

namespace differential {

enum class mode : std::uint8_t { standard, synchronous, buffered, ready };

struct transfer {
  int from = 0;
  int to = 0;
  int tag = 0;
  cargo load;
  int receive_tag = 0;  ///< or MPI_ANY_TAG
  int room = 0;         ///< units that the receive has memory for
  mode of = mode::standard;
  bool is_absolute = false;  // both datatypes have addresses
  std::uint64_t sender_seed = 0;
  std::uint64_t receiver_seed = 0;
};

/// `depth`: of datatypes. Messages from a rank to itself are drawn only where they may be.
transfer random_transfer(scene& here, int depth, bool may_be_to_itself);

side sender_side(const transfer& of);
side receiver_side(const transfer& of);

/// Checks and logs what a receive of `sent` gave. `status` may be nullptr where it was ignored.
void check_received(scene& here, const char* name, const transfer& sent, side& into, const MPI_Status* status);
/// Source, tag, count and elements of a status.
void log_status(scene& here, const char* name, const MPI_Status& status, MPI_Datatype type);
/// A status with all fields set to what no call sets.
MPI_Status unset_status();

/// No wildcard of this case is to match a message of the next one.
void end_of_wildcards(scene& here);

/// Memory for buffered sends of this rank, attached while it exists.
class attached_buffer {
 public:
  attached_buffer(scene& here, std::size_t bytes);
  ~attached_buffer();

 private:
  scene& here_;
  std::vector<std::byte> memory_;
};
/// Bytes that buffered sends of all these transfers may need at the rank.
std::size_t buffer_bytes(const std::vector<transfer>& all, int rank);

}  // namespace differential
