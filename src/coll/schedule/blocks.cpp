// SPDX-License-Identifier: BSD-3-Clause
#include "coll/schedule/blocks.hpp"

#include <algorithm>

namespace weft::coll {

run_of_blocks blocks_from(location buffer, const collective_args& args, std::uint32_t rank,
                          std::uint32_t count) noexcept {
  const std::uint32_t before_end = std::min(count, args.size - rank);
  return {{buffer, rank * args.block_bytes, before_end * args.block_bytes},
          {buffer, 0, (count - before_end) * args.block_bytes}};
}

step_ref pack(schedule& out, const run_of_blocks& from, part into, std::initializer_list<step_ref> before) {
  const step_ref copied = out.copy(from.first, sub(into, 0, from.first.bytes), before);
  if (from.rest.bytes == 0) return copied;
  return out.copy(from.rest, sub(into, from.first.bytes, from.rest.bytes), {copied});
}

step_ref unpack(schedule& out, part from, const run_of_blocks& into, std::initializer_list<step_ref> before) {
  const step_ref copied = out.copy(sub(from, 0, into.first.bytes), into.first, before);
  if (into.rest.bytes == 0) return copied;
  return out.copy(sub(from, into.first.bytes, into.rest.bytes), into.rest, {copied});
}

}  // namespace weft::coll
