// SPDX-License-Identifier: BSD-3-Clause
#include "coll/shape_of.hpp"

#include <fmt/format.h>

#include "base/collective_names.hpp"
#include "coll/buffers.hpp"
#include "coll/direct.hpp"
#include "coll/step_buffers.hpp"
#include "weft/error.hpp"

namespace weft::coll {

void refuse_call(operation which, const std::string& why) {
  throw error{errc::invalid_argument, fmt::format("{}: {}", name_of(which), why)};
}

namespace {

void check_memory(const collective::parts& call, const group_state& group) {
  for (const const_buffer_ref& each : {call.in, const_buffer_ref{call.out}}) {
    if (is_ordinary(each) && each.bytes() == 0) continue;
    const core::refused_memory found = group.check_memory(each);
    if (found.why != core::memory_refusal::none) [[unlikely]]
      refuse_call(call.operation, fmt::format("{} (kind: {})", core::reason_of(found.why), found.kind));
  }
}

void check_blocks(const collective::parts& call, const blocks& lists, const group_state& group, std::uint64_t bytes) {
  if (lists.bytes.empty() && lists.offsets.empty()) return;
  if (lists.bytes.size() != group.size() || lists.offsets.size() != group.size()) {
    refuse_call(call.operation, fmt::format("{} sizes and {} offsets of blocks, but the group has {} members",
                                            lists.bytes.size(), lists.offsets.size(), group.size()));
  }
  for (std::uint32_t member = 0; member < group.size(); ++member) {
    if (lists.offsets[member] > bytes || lists.bytes[member] > bytes - lists.offsets[member]) {
      refuse_call(call.operation,
                  fmt::format("the block of member {} ({} bytes from {} on) leaves the buffer of {} bytes", member,
                              lists.bytes[member], lists.offsets[member], bytes));
    }
  }
}

void check_list(const collective::parts& call, const blocks& lists, const group_state& group) {
  if (lists.bytes.size() != group.size())
    refuse_call(call.operation,
                fmt::format("{} blocks are given, but the group has {} members", lists.bytes.size(), group.size()));
}

// `whole` in as many blocks as there are members.
std::uint64_t block_bytes_of(const collective::parts& call, std::uint64_t whole, const group_state& group) {
  if (whole % group.size() != 0)
    refuse_call(call.operation, fmt::format("{} bytes can't be {} blocks of one size", whole, group.size()));
  return whole / group.size();
}

void check_same(const collective::parts& call, std::uint64_t a, std::uint64_t b) {
  if (a == b) return;
  const char* const hint = call.in.bytes() == 0 ? "; to work in place, write {} for the input" : "";
  refuse_call(call.operation, fmt::format("input and output have {} and {} bytes, which have to fit{}", a, b, hint));
}

// Only the root works in place. Another member that says so, with a buffer for it, has mistaken who the root is.
void refuse_inplace(const collective::parts& call, std::uint64_t bytes) {
  if (call.is_inplace && bytes != 0)
    refuse_call(call.operation, fmt::format("{{}} means in place, which only the root can be, member {}", call.root));
}

// The sizes of a collective, as this member gives them.
void set_sizes(collective_args& args, const collective::parts& call, const group_state& group) {
  const std::uint64_t input_bytes = call.in.bytes(), output_bytes = call.out.bytes();
  const bool is_root = call.root == group.rank();
  const bool has_lists = !call.in_blocks.bytes.empty() || !call.out_blocks.bytes.empty() || call.root_has_blocks;
  args.root_has_list = call.root_has_blocks;
  args.is_inplace = call.is_inplace;
  switch (call.operation) {
    case collective_operation::barrier: break;
    case collective_operation::broadcast:
      args.block_bytes = output_bytes;
      args.is_inplace = false;
      break;
    case collective_operation::allreduce:
    case collective_operation::scan:
    case collective_operation::exscan:
      args.block_bytes = output_bytes;
      if (!args.is_inplace) check_same(call, input_bytes, output_bytes);
      break;
    case collective_operation::reduce:
      if (!is_root) refuse_inplace(call, output_bytes);
      args.is_inplace = args.is_inplace && is_root;
      args.block_bytes = args.is_inplace ? output_bytes : input_bytes;
      if (is_root && !args.is_inplace) check_same(call, input_bytes, output_bytes);
      break;
    case collective_operation::gather:
      if (!is_root) refuse_inplace(call, output_bytes);
      args.is_inplace = args.is_inplace && is_root;
      if (has_lists) {
        if (is_root) check_list(call, call.out_blocks, group);
        if (is_root && !args.is_inplace) check_same(call, input_bytes, call.out_blocks.bytes[call.root]);
        args.block_bytes = is_root ? 0 : input_bytes;
        break;
      }
      args.block_bytes = is_root ? block_bytes_of(call, output_bytes, group) : input_bytes;
      if (is_root && !args.is_inplace) check_same(call, input_bytes, args.block_bytes);
      break;
    case collective_operation::scatter:
      if (!is_root) refuse_inplace(call, input_bytes);
      args.is_inplace = args.is_inplace && is_root;
      if (has_lists) {
        if (is_root) check_list(call, call.in_blocks, group);
        if (is_root && !args.is_inplace) check_same(call, call.in_blocks.bytes[call.root], output_bytes);
        args.block_bytes = is_root ? 0 : output_bytes;
        break;
      }
      args.block_bytes = is_root ? block_bytes_of(call, input_bytes, group) : output_bytes;
      if (is_root && !args.is_inplace) check_same(call, args.block_bytes, output_bytes);
      break;
    case collective_operation::allgather:
      if (has_lists) {
        check_list(call, call.out_blocks, group);
        if (!args.is_inplace) check_same(call, input_bytes, call.out_blocks.bytes[group.rank()]);
        break;
      }
      args.block_bytes = block_bytes_of(call, output_bytes, group);
      if (!args.is_inplace) check_same(call, input_bytes, args.block_bytes);
      break;
    case collective_operation::alltoall:
      // A list of what is sent says that the input is its own, also where that has no bytes.
      args.is_inplace = args.is_inplace && call.in_blocks.bytes.empty() && call.in_blocks.offsets.empty();
      if (has_lists) {
        check_list(call, call.out_blocks, group);
        if (args.is_inplace) break;
        check_list(call, call.in_blocks, group);
        check_same(call, call.in_blocks.bytes[group.rank()], call.out_blocks.bytes[group.rank()]);
        break;
      }
      args.block_bytes = block_bytes_of(call, output_bytes, group);
      if (!args.is_inplace) check_same(call, input_bytes, output_bytes);
      break;
    case collective_operation::reduce_scatter:
      if (!call.out_blocks.bytes.empty()) {
        check_blocks(call, call.out_blocks, group, args.is_inplace ? output_bytes : input_bytes);
        if (!args.is_inplace) check_same(call, call.out_blocks.bytes[group.rank()], output_bytes);
        break;
      }
      args.block_bytes =
          args.is_inplace ? block_bytes_of(call, output_bytes, group) : block_bytes_of(call, input_bytes, group);
      if (!args.is_inplace) check_same(call, args.block_bytes, output_bytes);
      break;
  }
  if (call.operation != collective_operation::reduce_scatter) {
    check_blocks(call, call.in_blocks, group, input_bytes);
    check_blocks(call, call.out_blocks, group, output_bytes);
  }
}

}  // namespace

collective_args make_args(const collective::parts& call, group_state& group) {
  check_memory(call, group);
  if (call.root >= group.size())
    refuse_call(call.operation,
                fmt::format("there is no member {}; the group has members 0 to {}", call.root, group.size() - 1));
  collective_args args{.operation = call.operation,
                       .rank = group.rank(),
                       .size = group.size(),
                       .root = call.root,
                       .element_bytes = call.how.element_bytes,
                       .is_commutative = call.how.is_commutative,
                       .in_blocks = {call.in_blocks.bytes, call.in_blocks.offsets},
                       .out_blocks = {call.out_blocks.bytes, call.out_blocks.offsets},
                       .is_oversubscribed = group.settings().is_oversubscribed,
                       .nodes = group.nodes()};
  set_sizes(args, call, group);
  refuse_large(call, args);
  refuse_overlap(call, args);
  const bool reduces = call.operation == collective_operation::reduce ||
                       call.operation == collective_operation::allreduce ||
                       call.operation == collective_operation::reduce_scatter ||
                       call.operation == collective_operation::scan || call.operation == collective_operation::exscan;
  if (reduces && call.how.combine == nullptr) refuse_call(call.operation, "the reduction has no function");
  for (const std::uint64_t each : call.out_blocks.bytes) {
    if (reduces && call.how.element_bytes != 0 && each % call.how.element_bytes != 0)
      refuse_call(call.operation, fmt::format("a block of {} bytes is no whole number of elements of {} bytes", each,
                                              call.how.element_bytes));
  }
  if (reduces && (call.how.element_bytes == 0 || args.block_bytes % call.how.element_bytes != 0)) {
    refuse_call(call.operation, fmt::format("{} bytes are no whole number of elements of {} bytes", args.block_bytes,
                                            call.how.element_bytes));
  }
  return args;
}

bool make_direct_args(collective_args& args, const collective::parts& call, group_state& group,
                      const collective_options& options) {
  if (group.nodes() != nullptr) return false;
  if (!options.algorithm.empty()) return false;
  if (!group.settings().algorithms.empty() &&
      !base::algorithm_in(group.settings().algorithms, name_of(call.operation)).empty())
    return false;
  args.operation = call.operation;
  args.rank = group.rank();
  args.size = group.size();
  args.is_oversubscribed = group.settings().is_oversubscribed;
  if (call.operation == collective_operation::barrier) return true;
  args.root = call.root;
  args.block_bytes = call.out.bytes();
  args.element_bytes = call.how.element_bytes;
  args.is_commutative = call.how.is_commutative;
  if (!direct::can(args) || call.root >= group.size()) return false;
  const auto is_usable = [&](const const_buffer_ref& each) {
    return is_ordinary(each) && group.check_memory(each).why == core::memory_refusal::none;
  };
  if (!is_usable(call.out)) return false;
  if (call.operation == collective_operation::broadcast) return true;  // its input is its output
  if (!is_usable(call.in)) return false;
  args.is_inplace = call.is_inplace;
  const bool is_whole =
      args.element_bytes == args.block_bytes || (args.element_bytes != 0 && args.block_bytes % args.element_bytes == 0);
  if (!is_whole || call.how.combine == nullptr) return false;
  if (args.is_inplace) return true;
  const auto from = reinterpret_cast<std::uintptr_t>(call.in.address());
  const auto into = reinterpret_cast<std::uintptr_t>(call.out.address());
  const bool overlap = from < into ? into - from < args.block_bytes : from - into < args.block_bytes;
  return call.in.bytes() == args.block_bytes && !overlap;
}

}  // namespace weft::coll
