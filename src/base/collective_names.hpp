// SPDX-License-Identifier: BSD-3-Clause
// The names of collective operations and of their algorithms, for the setting that chooses algorithms (WEFT_COLL). The
// algorithms themselves are in src/coll, of whose table (coll/algorithms/table.cpp) these rows are made.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft::base {

struct collective_name {
  std::string_view operation;
  std::string_view algorithm;
};

inline constexpr std::array collective_names{
    // Made of the table by tools/tidy.py --fix:
    collective_name{"barrier", "dissemination"},
    collective_name{"barrier", "linear"},
    collective_name{"barrier", "tree"},
    collective_name{"barrier", "two-level"},
    collective_name{"broadcast", "linear"},
    collective_name{"broadcast", "binomial"},
    collective_name{"broadcast", "k-nomial"},
    collective_name{"broadcast", "scatter-allgather"},
    collective_name{"broadcast", "chain"},
    collective_name{"broadcast", "two-level"},
    collective_name{"reduce", "linear"},
    collective_name{"reduce", "binomial"},
    collective_name{"reduce", "rabenseifner"},
    collective_name{"reduce", "chain"},
    collective_name{"reduce", "two-level"},
    collective_name{"allreduce", "linear"},
    collective_name{"allreduce", "recursive-doubling"},
    collective_name{"allreduce", "rabenseifner"},
    collective_name{"allreduce", "ring"},
    collective_name{"allreduce", "two-level"},
    collective_name{"reduce_scatter", "pairwise"},
    collective_name{"reduce_scatter", "ring"},
    collective_name{"reduce_scatter", "recursive-halving"},
    collective_name{"gather", "linear"},
    collective_name{"gather", "binomial"},
    collective_name{"scatter", "linear"},
    collective_name{"scatter", "binomial"},
    collective_name{"allgather", "ring"},
    collective_name{"allgather", "recursive-doubling"},
    collective_name{"allgather", "bruck"},
    collective_name{"allgather", "two-level"},
    collective_name{"alltoall", "linear"},
    collective_name{"alltoall", "pairwise"},
    collective_name{"alltoall", "bruck"},
    collective_name{"scan", "linear"},
    collective_name{"scan", "recursive-doubling"},
    collective_name{"exscan", "linear"},
    collective_name{"exscan", "recursive-doubling"},
    // End of what is made.
};

/// Why `text` is no list as in `allreduce:ring,broadcast:binomial`; empty if it is one. Each operation may be named
/// once.
[[nodiscard]] std::string fault_of_algorithms(std::string_view text);

/// The algorithm that such a list names for an operation; empty if it names none. **Blocking** never.
[[nodiscard]] std::string_view algorithm_in(std::string_view list, std::string_view operation) noexcept;

/// All operations with their algorithms: `barrier: dissemination, tree; broadcast: ...`.
[[nodiscard]] std::string all_algorithms();

}  // namespace weft::base
