// SPDX-License-Identifier: BSD-3-Clause
#include "core/memory/state_budget.hpp"

#include <fmt/format.h>

#include "weft/error.hpp"

namespace weft::core {

void state_budget::throw_no_memory(std::uint64_t bytes) {
  throw error{errc::out_of_memory,
              fmt::format("the system has no {} bytes for operations, receives or waiting messages; lower "
                          "WEFT_OPERATIONS_MAX, WEFT_RECEIVES_MAX and WEFT_UNEXPECTED_SENDS_MAX, where they are set",
                          bytes)};
}

void state_budget::log_full(const char* elements, pool_end why) noexcept {
  if (why == pool_end::bytes) {
    base::log_once(
        logged_bound_, base::log_level::warn,
        "the {} bytes of WEFT_STATE_BYTES_MAX, for operations under way and messages without a receive, are used up: "
        "there is no room for more {}, so posts answer retry or throw backlog_full, and peers are held back; raise "
        "WEFT_STATE_BYTES_MAX, or wait for completions before you post more",
        bytes_max_, elements);
  } else if (why == pool_end::no_memory) {
    base::log_once(
        logged_memory_, base::log_level::warn,
        "the system has no memory for more {}, though their {} bytes are within WEFT_STATE_BYTES_MAX={}: posts answer "
        "retry or throw backlog_full, and peers are held back",
        elements, bytes(), bytes_max_);
  }
}

}  // namespace weft::core
