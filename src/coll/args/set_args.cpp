// SPDX-License-Identifier: BSD-3-Clause
#include "coll/args/set_args.hpp"

#include <fmt/format.h>

#include "coll/args/buffers.hpp"
#include "weft/error.hpp"

namespace weft::coll {

void refuse_call(operation which, const std::string& why) {
  throw error{errc::invalid_argument, fmt::format("{}: {}", name_of(which), why)};
}

namespace {

std::uint64_t input_bytes(const collective::parts& call) noexcept { return call.input.bytes(); }
std::uint64_t output_bytes(const collective::parts& call) noexcept { return call.out.bytes(); }

void check_blocks(const collective_args& args, const blocks& lists, std::uint64_t bytes) {
  if (lists.bytes.empty() && lists.offsets.empty()) return;
  if (lists.bytes.size() != args.size || lists.offsets.size() != args.size) {
    refuse_call(args.operation, fmt::format("{} sizes and {} offsets of blocks, but the group has {} members",
                                            lists.bytes.size(), lists.offsets.size(), args.size));
  }
  for (std::uint32_t member = 0; member < args.size; ++member) {
    if (lists.offsets[member] > bytes || lists.bytes[member] > bytes - lists.offsets[member]) {
      refuse_call(args.operation,
                  fmt::format("the block of member {} ({} bytes from {} on) leaves the buffer of {} bytes", member,
                              lists.bytes[member], lists.offsets[member], bytes));
    }
  }
}

void check_list(const collective_args& args, const blocks& lists) {
  if (lists.bytes.size() != args.size)
    refuse_call(args.operation,
                fmt::format("{} blocks are given, but the group has {} members", lists.bytes.size(), args.size));
}

// The bytes of a block if `whole` bytes are a block for each member.
std::uint64_t block_bytes_of(const collective_args& args, std::uint64_t whole) {
  if (whole % args.size != 0)
    refuse_call(args.operation, fmt::format("{} bytes can't be {} blocks of one size", whole, args.size));
  return whole / args.size;
}

void check_equal(const collective::parts& call, std::uint64_t given, std::uint64_t wanted) {
  if (given == wanted) return;
  const char* const hint = input_bytes(call) == 0 ? "; to work in place, write {} for the input" : "";
  refuse_call(call.operation,
              fmt::format("input and output have {} and {} bytes, which have to fit{}", given, wanted, hint));
}

// Only the root works in place. Another member that says so, with a buffer for it, is mistaken about the root.
void refuse_inplace(const collective::parts& call, std::uint64_t bytes) {
  if (call.is_inplace && bytes != 0)
    refuse_call(call.operation, fmt::format("{{}} means in place, which only the root can be, member {}", call.root));
}

bool has_lists(const collective::parts& call) noexcept {
  return !call.in_blocks.bytes.empty() || !call.out_blocks.bytes.empty() || call.root_has_blocks;
}

void set_whole(collective_args& args, const collective::parts& call) {
  args.block_bytes = output_bytes(call);
  if (!args.is_inplace) check_equal(call, input_bytes(call), output_bytes(call));
}

void set_reduce(collective_args& args, const collective::parts& call) {
  const bool is_root = args.rank == args.root;
  if (!is_root) refuse_inplace(call, output_bytes(call));
  args.is_inplace = args.is_inplace && is_root;
  args.block_bytes = args.is_inplace ? output_bytes(call) : input_bytes(call);
  if (is_root && !args.is_inplace) check_equal(call, input_bytes(call), output_bytes(call));
}

void set_gather(collective_args& args, const collective::parts& call) {
  const bool is_root = args.rank == args.root;
  if (!is_root) refuse_inplace(call, output_bytes(call));
  args.is_inplace = args.is_inplace && is_root;
  if (has_lists(call)) {
    if (is_root) check_list(args, call.out_blocks);
    if (is_root && !args.is_inplace) check_equal(call, input_bytes(call), call.out_blocks.bytes[args.root]);
    args.block_bytes = is_root ? 0 : input_bytes(call);
    return;
  }
  args.block_bytes = is_root ? block_bytes_of(args, output_bytes(call)) : input_bytes(call);
  if (is_root && !args.is_inplace) check_equal(call, input_bytes(call), args.block_bytes);
}

void set_scatter(collective_args& args, const collective::parts& call) {
  const bool is_root = args.rank == args.root;
  if (!is_root) refuse_inplace(call, input_bytes(call));
  args.is_inplace = args.is_inplace && is_root;
  if (has_lists(call)) {
    if (is_root) check_list(args, call.in_blocks);
    if (is_root && !args.is_inplace) check_equal(call, call.in_blocks.bytes[args.root], output_bytes(call));
    args.block_bytes = is_root ? 0 : output_bytes(call);
    return;
  }
  args.block_bytes = is_root ? block_bytes_of(args, input_bytes(call)) : output_bytes(call);
  if (is_root && !args.is_inplace) check_equal(call, args.block_bytes, output_bytes(call));
}

void set_allgather(collective_args& args, const collective::parts& call) {
  if (has_lists(call)) {
    check_list(args, call.out_blocks);
    if (!args.is_inplace) check_equal(call, input_bytes(call), call.out_blocks.bytes[args.rank]);
    return;
  }
  args.block_bytes = block_bytes_of(args, output_bytes(call));
  if (!args.is_inplace) check_equal(call, input_bytes(call), args.block_bytes);
}

void set_alltoall(collective_args& args, const collective::parts& call) {
  // A list of the blocks to send says that the input is its own, also where that has no bytes.
  args.is_inplace = args.is_inplace && call.in_blocks.bytes.empty() && call.in_blocks.offsets.empty();
  if (has_lists(call)) {
    check_list(args, call.out_blocks);
    if (args.is_inplace) return;
    check_list(args, call.in_blocks);
    check_equal(call, call.in_blocks.bytes[args.rank], call.out_blocks.bytes[args.rank]);
    return;
  }
  args.block_bytes = block_bytes_of(args, output_bytes(call));
  if (!args.is_inplace) check_equal(call, input_bytes(call), output_bytes(call));
}

void set_reduce_scatter(collective_args& args, const collective::parts& call) {
  const std::uint64_t blocks_bytes = args.is_inplace ? output_bytes(call) : input_bytes(call);
  if (!call.out_blocks.bytes.empty()) {
    check_blocks(args, call.out_blocks, blocks_bytes);
    if (!args.is_inplace) check_equal(call, call.out_blocks.bytes[args.rank], output_bytes(call));
    return;
  }
  args.block_bytes = block_bytes_of(args, blocks_bytes);
  if (!args.is_inplace) check_equal(call, args.block_bytes, output_bytes(call));
}

// Sets the sizes of a collective, as this member gives them.
void set_sizes(collective_args& args, const collective::parts& call) {
  switch (args.operation) {
    case operation::barrier: break;
    case operation::broadcast:
      args.block_bytes = output_bytes(call);
      args.is_inplace = false;
      break;
    case operation::allreduce:
    case operation::scan:
    case operation::exscan: set_whole(args, call); break;
    case operation::reduce: set_reduce(args, call); break;
    case operation::gather: set_gather(args, call); break;
    case operation::scatter: set_scatter(args, call); break;
    case operation::allgather: set_allgather(args, call); break;
    case operation::alltoall: set_alltoall(args, call); break;
    case operation::reduce_scatter: set_reduce_scatter(args, call); return;
  }
  check_blocks(args, call.in_blocks, input_bytes(call));
  check_blocks(args, call.out_blocks, output_bytes(call));
}

void check_reduction(const collective_args& args, const collective::parts& call) {
  const std::uint64_t element_bytes = args.element_bytes;
  if (call.op.combine == nullptr) refuse_call(args.operation, "the reduction has no function");
  for (const std::uint64_t each : call.out_blocks.bytes) {
    if (element_bytes != 0 && each % element_bytes != 0)
      refuse_call(args.operation,
                  fmt::format("a block of {} bytes is no whole number of elements of {} bytes", each, element_bytes));
  }
  if (element_bytes == 0 || args.block_bytes % element_bytes != 0) {
    refuse_call(args.operation,
                fmt::format("{} bytes are no whole number of elements of {} bytes", args.block_bytes, element_bytes));
  }
}

}  // namespace

void set_args(collective_args& args, const collective::parts& call) {
  if (call.root >= args.size) {
    refuse_call(call.operation,
                fmt::format("there is no member {}; the group has members 0 to {}", call.root, args.size - 1));
  }
  args.operation = call.operation;
  args.root = call.root;
  args.element_bytes = call.op.element_bytes;
  args.is_commutative = call.op.is_commutative;
  args.is_inplace = call.is_inplace;
  args.in_blocks = {call.in_blocks.bytes, call.in_blocks.offsets};
  args.out_blocks = {call.out_blocks.bytes, call.out_blocks.offsets};
  args.root_has_list = call.root_has_blocks;
  set_sizes(args, call);
  refuse_large(call, args);
  refuse_overlap(call, args);
  if (is_reduction(args.operation)) check_reduction(args, call);
}

}  // namespace weft::coll
