// SPDX-License-Identifier: BSD-3-Clause
// The post of a send whose request has all that it needs.
#pragma once

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

inline status post_send(weft::device& through, request_signals& signals, request& one) {
  return through.post_send(one.send.peer, one.send.bytes, signals,
                           {.tag = static_cast<std::uint64_t>(one.send.tag),
                            .engine = one.of->engine,
                            .complete_at = one.send.complete_at,
                            .context = &one});
}

}  // namespace weft::mpi
