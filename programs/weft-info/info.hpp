// SPDX-License-Identifier: BSD-3-Clause
// The reports of weft-info: each function prints one on standard output.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace weft::info {

/// **Errors**: `configuration` for an environment that a runtime would refuse.
void check_environment();

/// A block for each WEFT_* variable: name, type, default, value here, meaning and allowed values.
void print_config();

/// Transports of this build, and the providers and devices that they find on this machine.
void print_transports();

/// Packages, cores, caches, memory: some lines.
void print_topology();

/// Joins the job and prints, at rank 0, which way a message goes. Collective. **Errors**: those of the runtime;
/// `invalid_argument` for an unknown rank.
void print_explanation(std::uint32_t rank, std::uint64_t bytes);

/// Whether it is the name of a collective operation; a number is none. **Errors**: `invalid_argument` for other texts.
[[nodiscard]] bool is_operation(const std::string& name);

/// Joins the job and prints, at rank 0, which algorithm a collective of blocks of `bytes` bytes takes among so many
/// ranks (all of the job unless given), what it costs, and how messages travel. Collective. **Errors**: those of the
/// runtime; `invalid_argument` for numbers that can't be counted.
void print_collective_explanation(const std::string& name, std::uint64_t bytes, std::optional<std::uint32_t> ranks);

/// `4096`, `64KiB`, `1MiB` or `2GiB` in bytes. **Errors**: `invalid_argument`.
[[nodiscard]] std::uint64_t parse_size(const std::string& text);

}  // namespace weft::info
