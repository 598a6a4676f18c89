// SPDX-License-Identifier: BSD-3-Clause
// Loops that the compiler has vectorized, with which reductions are compared: the source has flags of its own.
#pragma once

#include <cstddef>
#include <vector>

namespace weft::perf {

/// `inout[i] = op(in[i], inout[i])` for so many elements. The arrays do not overlap.
using reducing_loop = void (*)(const void* input, void* inout, std::size_t count);

/// One for each of `each_reduction`, in its order.
[[nodiscard]] std::vector<reducing_loop> vectorized_loops();

}  // namespace weft::perf
