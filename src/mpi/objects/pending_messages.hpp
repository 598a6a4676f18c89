// SPDX-License-Identifier: BSD-3-Clause
// What waits on a device: sends and receives that have started and are not posted yet, and continuations that may run.
#pragma once

#include "mpi/objects/continuation.hpp"
#include "mpi/objects/pending_receives.hpp"
#include "mpi/objects/pending_sends.hpp"

namespace weft::mpi {

struct pending_messages {
  pending_sends sends;
  pending_receives receives;
  continuation_queue continued{};
};

}  // namespace weft::mpi
