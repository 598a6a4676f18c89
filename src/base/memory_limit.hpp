// SPDX-License-Identifier: BSD-3-Clause
// How much memory a process can have at most.
#pragma once

#include <cstdint>
#include <string>

namespace weft::base {

/// Bytes that this process may ever have: what the machine has, swap included, within the limits of the process
/// (`ulimit -v` and `-d`) and of its control groups (containers, batch systems). What is larger never fits, however
/// long one waits. The limits of control groups are those of the first call.
[[nodiscard]] std::uint64_t memory_limit() noexcept;

/// Bytes that control groups allow this process, `swap_bytes` of swap included: the least that its group and those
/// above it allow, in both versions; the largest number where they set no limit. Reads `root`/proc/self/cgroup and
/// `root`/proc/self/mountinfo, and the files of the groups below `root`, which is empty but in tests.
[[nodiscard]] std::uint64_t control_group_limit(const std::string& root, std::uint64_t swap_bytes);

}  // namespace weft::base
