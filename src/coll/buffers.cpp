// SPDX-License-Identifier: BSD-3-Clause
#include "coll/buffers.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "coll/step_buffers.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

[[noreturn]] void refuse(operation which, const std::string& why) {
  throw error{errc::invalid_argument, fmt::format("{}: {}", name_of(which), why)};
}

bool overlap(const_buffer_ref a, const_buffer_ref b) noexcept {
  const auto first = reinterpret_cast<std::uintptr_t>(a.address());
  const auto second = reinterpret_cast<std::uintptr_t>(b.address());
  return first < second ? second - first < a.bytes() : first - second < b.bytes();
}

bool uses_both(const shape& of) noexcept {
  switch (of.operation) {
    case operation::barrier:
    case operation::broadcast: return false;
    case operation::reduce:
    case operation::gather:
    case operation::scatter: return of.root == of.rank;
    default: return true;
  }
}

std::vector<const_buffer_ref> blocks_of(const blocks& lists, const_buffer_ref whole) {
  if (lists.bytes.empty()) return {whole};
  std::vector<const_buffer_ref> out;
  for (std::size_t i = 0; i < lists.bytes.size(); ++i) {
    if (lists.bytes[i] != 0)
      out.emplace_back(static_cast<const std::byte*>(whole.address()) + lists.offsets[i],
                       static_cast<std::size_t>(lists.bytes[i]));
  }
  return out;
}

}  // namespace

// Algorithms hold up to four blocks of each member, and cut them.
void refuse_large(const collective::parts& of, const shape& as) {
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(as.block_bytes, std::uint64_t{8} * as.size, &total)) [[unlikely]] {
    refuse(of.operation,
           fmt::format("{} bytes for each of {} members are more than can be counted", as.block_bytes, as.size));
  }
}

void refuse_overlap(const collective::parts& of, const shape& as) {
  if (of.in.bytes() == 0 || of.out.bytes() == 0 || !overlap(of.in, of.out)) return;
  if (!uses_both(as) || !is_ordinary(of.in) || !is_ordinary(of.out)) return;
  // The list of a reduce-scatter is of its input.
  const bool is_of_input = of.operation == operation::reduce_scatter;
  const auto ins = blocks_of(is_of_input ? of.out_blocks : of.in_blocks, of.in);
  const auto outs = blocks_of(is_of_input ? blocks{} : of.out_blocks, of.out);
  for (const const_buffer_ref& one : ins) {
    for (const const_buffer_ref& other : outs) {
      if (overlap(one, other)) {
        refuse(of.operation, "input and output overlap; to work in place, name the output and write {} for the input");
      }
    }
  }
}

}  // namespace weft::coll
