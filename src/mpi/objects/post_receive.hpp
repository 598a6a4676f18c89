// SPDX-License-Identifier: BSD-3-Clause
// The post of a receive.
#pragma once

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "weft/device.hpp"

namespace weft::mpi {

/// `may_refuse`: it may answer *retry*. **Errors**: those of the post.
inline status try_post_receive(weft::device& device, request_signals& signals, request& context, buffer_ref into,
                               envelope from, bool may_refuse = true) {
  const communicator& comm = context.comm();
  const bool is_any = from.tag == MPI_ANY_TAG;
  return device.post_recv(comm.peer_of(from.peer), into, signals,
                          {.tag = is_any ? 0 : static_cast<std::uint64_t>(from.tag),
                           .engine = comm.engine,
                           .policy = comm.policy(),
                           .any_tag = is_any,
                           .context = &context,
                           .allow_retry = may_refuse});
}

}  // namespace weft::mpi
