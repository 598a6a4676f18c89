// SPDX-License-Identifier: BSD-3-Clause
// All that the bodies of the tables call.
#pragma once

#include "mpi.h"
#include "mpi/check/checked_call.hpp"
#include "mpi/check/communication.hpp"
#include "mpi/check/group.hpp"
#include "mpi/check/info.hpp"
#include "mpi/check/request.hpp"
#include "mpi/check/types.hpp"
#include "mpi/clock/time.hpp"
#include "mpi/collective/collectives.hpp"
#include "mpi/communicator/create.hpp"
#include "mpi/communicator/duplicate.hpp"
#include "mpi/communicator/inquiries.hpp"
#include "mpi/communicator/split_type.hpp"
#include "mpi/environment/environment.hpp"
#include "mpi/error/error.hpp"
#include "mpi/group/inquiries.hpp"
#include "mpi/group/process_group.hpp"
#include "mpi/group/sets.hpp"
#include "mpi/handle/handle_numbers.hpp"
#include "mpi/info/functions.hpp"
#include "mpi/info/info.hpp"
#include "mpi/message/buffered.hpp"
#include "mpi/message/complete.hpp"
#include "mpi/message/counts.hpp"
#include "mpi/message/exchange.hpp"
#include "mpi/message/fast_messages.hpp"
#include "mpi/message/generalized.hpp"
#include "mpi/message/persistent.hpp"
#include "mpi/message/point_to_point.hpp"
#include "mpi/message/probe.hpp"
#include "mpi/message/requests.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/objects/attribute.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/objects/operation.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/rank/raise.hpp"
#include "mpi/rank/rank_state.hpp"
#include "mpi/topology/dims_create.hpp"
#include "mpi/topology/grids.hpp"
#include "mpi/type/constructors.hpp"
#include "mpi/type/inquiries.hpp"
#include "mpi/type/packing.hpp"
#include "weft/detail/fiber_words.hpp"

namespace weft::mpi {

/// Writes the result of a function that cannot fail.
template <class To, class From>
int write_result(To* to, From value) noexcept {
  *to = static_cast<To>(value);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
