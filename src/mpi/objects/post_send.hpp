// SPDX-License-Identifier: BSD-3-Clause
// The post of a send whose request has all that it needs.
#pragma once

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

inline status post_send(weft::device& device, request_signals& signals, request& req) {
  const communicator& comm = req.comm();
  return device.post_send(req.send.peer, req.send.bytes, signals,
                          {.tag = static_cast<std::uint64_t>(req.send.tag),
                           .engine = req.send.lane == own_lane ? comm.engine : comm.route.lanes[req.send.lane]->engine,
                           .policy = comm.policy(),
                           .complete_at = req.send.complete_at,
                           .device = req.send.device,
                           .context = &req});
}

}  // namespace weft::mpi
