// How much memory a process can have at most.
#pragma once

#include <cstdint>

namespace weft::base {

/// Bytes that this process may ever have: what the machine has, swap included, within the limits of the process
/// (`ulimit -v` and `-d`). What is larger never fits, however long one waits.
[[nodiscard]] std::uint64_t memory_limit() noexcept;

}  // namespace weft::base
