// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives that have started and are not posted yet.
#pragma once

#include "mpi/objects/pending_receives.hpp"
#include "mpi/objects/pending_sends.hpp"

namespace weft::mpi {

struct pending_messages {
  pending_sends sends;
  pending_receives receives;
};

}  // namespace weft::mpi
