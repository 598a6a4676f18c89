// SPDX-License-Identifier: BSD-3-Clause
#include "cases.hpp"

namespace differential {

const std::vector<named_case>& cases() {
  static const std::vector<named_case> all{
      {"blocking_messages", blocking_messages},
      {"blocking_modes", blocking_modes},
      {"typed_messages", typed_messages},
      {"nonblocking_messages", nonblocking_messages},
      {"nonblocking_modes", nonblocking_modes},
      {"send_and_receive", send_and_receive},
      {"wildcard_messages", wildcard_messages},
      {"messages_by_tag", messages_by_tag},
      {"messages_with_hints", messages_with_hints},
      {"cancelled_receives", cancelled_receives},
      {"messages_to_none", messages_to_none},
      {"probed_messages", probed_messages},
      {"persistent_messages", persistent_messages},
      {"truncated_messages", truncated_messages},
      {"failures_among_requests", failures_among_requests},
      {"wrong_arguments", wrong_arguments},
      {"broadcasts", broadcasts},
      {"gathers", gathers},
      {"scatters", scatters},
      {"alltoalls", alltoalls},
      {"reductions", reductions},
      {"ordered_reductions", ordered_reductions},
      {"bounds_of_types", bounds_of_types},
      {"packed_data", packed_data},
      {"several_threads", several_threads, true},
      {"threads_of_one_communicator", threads_of_one_communicator, true},
  };
  return all;
}

}  // namespace differential
