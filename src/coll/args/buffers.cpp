// SPDX-License-Identifier: BSD-3-Clause
#include "coll/args/buffers.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/door/door.hpp"
#include "weft/error.hpp"
#include "weft/memory.hpp"

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

bool uses_both(const collective_args& args) noexcept {
  switch (args.operation) {
    case operation::barrier:
    case operation::broadcast: return false;
    case operation::reduce:
    case operation::gather:
    case operation::scatter: return args.root == args.rank;
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

bool is_ordinary(const const_buffer_ref& buffer) noexcept {
  return buffer.memory() == nullptr || core::memory_copies::is_ordinary(*buffer.memory());
}

// Algorithms hold up to four blocks of each member, and cut them.
void refuse_large(const collective::parts& call, const collective_args& args) {
  std::uint64_t total = 0;
  if (__builtin_mul_overflow(args.block_bytes, std::uint64_t{8} * args.size, &total)) [[unlikely]] {
    refuse(call.operation,
           fmt::format("{} bytes for each of {} members are more than can be counted", args.block_bytes, args.size));
  }
}

void refuse_overlap(const collective::parts& call, const collective_args& args) {
  if (call.input.bytes() == 0 || call.out.bytes() == 0 || !overlap(call.input, call.out)) return;
  if (!uses_both(args) || !is_ordinary(call.input) || !is_ordinary(call.out)) return;
  // The list of a reduce-scatter is of its input.
  const bool is_of_input = call.operation == operation::reduce_scatter;
  const auto ins = blocks_of(is_of_input ? call.out_blocks : call.in_blocks, call.input);
  const auto outs = blocks_of(is_of_input ? blocks{} : call.out_blocks, call.out);
  for (const const_buffer_ref& first : ins) {
    for (const const_buffer_ref& second : outs) {
      if (overlap(first, second)) {
        refuse(call.operation,
               "input and output overlap; to work in place, name the output and write {} for the input");
      }
    }
  }
}

}  // namespace weft::coll
