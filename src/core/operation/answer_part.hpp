// SPDX-License-Identifier: BSD-3-Clause
// Only of operations that answer a peer.
#pragma once

#include <cstdint>

#include "weft/error.hpp"

namespace weft::core {

struct answer_part {
  std::uint64_t old_word = 0;        // of an atomic's target
  errc receiver_error = errc::none;  // of a send in a receiver-first engine: the error for its receive alone
  bool has_begun = false;            // of the answer to a cancelled RTS: it is being received already
};

}  // namespace weft::core
