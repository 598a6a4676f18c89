// SPDX-License-Identifier: BSD-3-Clause
// The buffers of one member of a collective: too large ones, and an input and output that overlap, are refused.
#pragma once

#include "coll/args/collective_args.hpp"
#include "weft/collectives.hpp"

namespace weft::coll {

/// Whether the buffer lies in ordinary memory.
[[nodiscard]] bool is_ordinary(const const_buffer_ref& buffer) noexcept;

/// **Errors**: invalid_argument for sizes whose sums can overflow.
void refuse_large(const collective::parts& call, const collective_args& args);
/// **Errors**: invalid_argument if input and output overlap. Of those with lists the blocks count, not the bytes
/// between them. Buffers in memory of a kind, and with layouts, are not compared.
void refuse_overlap(const collective::parts& call, const collective_args& args);

}  // namespace weft::coll
