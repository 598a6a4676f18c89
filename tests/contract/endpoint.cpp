// SPDX-License-Identifier: BSD-3-Clause
// The one place where the transports' polls are compiled for the sinks of these tests.
#include "contract/job.hpp"

namespace weft::contract {

endpoint::endpoint(net::transport& of, std::uint32_t slot, seen_sink seen) {
  if (seen == seen_sink::whole) {
    inner_ = net::open_endpoint<sink>(of, slot, true);
  } else {
    inner_ = net::open_endpoint<least_sink>(of, slot, true);
  }
  of.go_live(slot, false);
}

}  // namespace weft::contract
