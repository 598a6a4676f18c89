// SPDX-License-Identifier: BSD-3-Clause
// The machines on which ranks run, as programs ask for them. Nothing of the library relies on it: clones of a virtual
// machine that have one name are taken for one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft::mpi {

/// A number of the machine's start and name; 0: it is not known. **Errors**: `std::bad_alloc`.
[[nodiscard]] std::uint64_t own_machine();

/// The machine of a member, and its node in the runtime, whose ranks share memory.
struct machine_of_member {
  std::uint64_t machine;
  std::uint64_t node;
};

/// The lowest member on the machine of each member: members that have a machine or a node in common are on one. So
/// containers of one machine that share memory are together, and so are ranks whose transport shares none.
/// **Errors**: `std::bad_alloc`.
[[nodiscard]] std::vector<std::uint32_t> numbers_of_machines(std::span<const machine_of_member> members);

}  // namespace weft::mpi
