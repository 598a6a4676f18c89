// SPDX-License-Identifier: BSD-3-Clause
// Only of operations that answer a peer.
#pragma once

#include <cstdint>

#include "weft/error.hpp"

namespace weft::core {

struct answer_part {
  std::uint64_t old_word = 0;        // value of an atomic's target before
  errc receiver_error = errc::none;  // the error for the receive alone of a send in a receiver-first engine
  bool has_begun = false;            // the message of a cancelled RTS is being received already
};

}  // namespace weft::core
