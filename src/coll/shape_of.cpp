// SPDX-License-Identifier: BSD-3-Clause
#include "coll/shape_of.hpp"

#include <fmt/format.h>

#include "base/collective_names.hpp"
#include "coll/buffers.hpp"
#include "coll/step_buffers.hpp"
#include "coll/straight.hpp"
#include "weft/error.hpp"

namespace weft::coll {

void refuse_call(operation which, const std::string& why) {
  throw error{errc::invalid_argument, fmt::format("{}: {}", name_of(which), why)};
}

namespace {

void check_memory(const collective::parts& of, const group_state& in) {
  for (const const_buffer_ref& each : {of.in, const_buffer_ref{of.out}}) {
    if (is_ordinary(each) && each.bytes() == 0) continue;
    const core::refused_memory found = in.check_memory(each);
    if (found.why != core::memory_refusal::none) [[unlikely]]
      refuse_call(of.operation, fmt::format("{} (kind: {})", core::reason_of(found.why), found.kind));
  }
}

void check_blocks(const collective::parts& of, const blocks& lists, const group_state& in, std::uint64_t bytes) {
  if (lists.bytes.empty() && lists.offsets.empty()) return;
  if (lists.bytes.size() != in.size() || lists.offsets.size() != in.size()) {
    refuse_call(of.operation, fmt::format("{} sizes and {} offsets of blocks, but the group has {} members",
                                          lists.bytes.size(), lists.offsets.size(), in.size()));
  }
  for (std::uint32_t member = 0; member < in.size(); ++member) {
    if (lists.offsets[member] > bytes || lists.bytes[member] > bytes - lists.offsets[member]) {
      refuse_call(of.operation,
                  fmt::format("the block of member {} ({} bytes from {} on) leaves the buffer of {} bytes", member,
                              lists.bytes[member], lists.offsets[member], bytes));
    }
  }
}

void check_list(const collective::parts& of, const blocks& lists, const group_state& in) {
  if (lists.bytes.size() != in.size())
    refuse_call(of.operation,
                fmt::format("{} blocks are given, but the group has {} members", lists.bytes.size(), in.size()));
}

// `whole` in as many blocks as there are members.
std::uint64_t block_of(const collective::parts& of, std::uint64_t whole, const group_state& in) {
  if (whole % in.size() != 0)
    refuse_call(of.operation, fmt::format("{} bytes can't be {} blocks of one size", whole, in.size()));
  return whole / in.size();
}

void check_same(const collective::parts& of, std::uint64_t a, std::uint64_t b) {
  if (a == b) return;
  const char* const hint = of.in.bytes() == 0 ? "; to work in place, write {} for the input" : "";
  refuse_call(of.operation, fmt::format("input and output have {} and {} bytes, which have to fit{}", a, b, hint));
}

// Only the root works in place. Another member that says so, with a buffer for it, has mistaken who the root is.
void refuse_inplace(const collective::parts& of, std::uint64_t bytes) {
  if (of.is_inplace && bytes != 0)
    refuse_call(of.operation, fmt::format("{{}} means in place, which only the root can be, member {}", of.root));
}

// The sizes of a collective, as this member gives them.
void size(shape& out, const collective::parts& of, const group_state& in) {
  const std::uint64_t given = of.in.bytes(), got = of.out.bytes();
  const bool is_root = of.root == in.rank();
  const bool has_lists = !of.in_blocks.bytes.empty() || !of.out_blocks.bytes.empty() || of.root_has_blocks;
  out.root_has_list = of.root_has_blocks;
  out.is_inplace = of.is_inplace;
  switch (of.operation) {
    case collective_operation::barrier: break;
    case collective_operation::broadcast:
      out.block_bytes = got;
      out.is_inplace = false;
      break;
    case collective_operation::allreduce:
    case collective_operation::scan:
    case collective_operation::exscan:
      out.block_bytes = got;
      if (!out.is_inplace) check_same(of, given, got);
      break;
    case collective_operation::reduce:
      if (!is_root) refuse_inplace(of, got);
      out.is_inplace = out.is_inplace && is_root;
      out.block_bytes = out.is_inplace ? got : given;
      if (is_root && !out.is_inplace) check_same(of, given, got);
      break;
    case collective_operation::gather:
      if (!is_root) refuse_inplace(of, got);
      out.is_inplace = out.is_inplace && is_root;
      if (has_lists) {
        if (is_root) check_list(of, of.out_blocks, in);
        if (is_root && !out.is_inplace) check_same(of, given, of.out_blocks.bytes[of.root]);
        out.block_bytes = is_root ? 0 : given;
        break;
      }
      out.block_bytes = is_root ? block_of(of, got, in) : given;
      if (is_root && !out.is_inplace) check_same(of, given, out.block_bytes);
      break;
    case collective_operation::scatter:
      if (!is_root) refuse_inplace(of, given);
      out.is_inplace = out.is_inplace && is_root;
      if (has_lists) {
        if (is_root) check_list(of, of.in_blocks, in);
        if (is_root && !out.is_inplace) check_same(of, of.in_blocks.bytes[of.root], got);
        out.block_bytes = is_root ? 0 : got;
        break;
      }
      out.block_bytes = is_root ? block_of(of, given, in) : got;
      if (is_root && !out.is_inplace) check_same(of, out.block_bytes, got);
      break;
    case collective_operation::allgather:
      if (has_lists) {
        check_list(of, of.out_blocks, in);
        if (!out.is_inplace) check_same(of, given, of.out_blocks.bytes[in.rank()]);
        break;
      }
      out.block_bytes = block_of(of, got, in);
      if (!out.is_inplace) check_same(of, given, out.block_bytes);
      break;
    case collective_operation::alltoall:
      // A list of what is sent says that the input is its own, also where that has no bytes.
      out.is_inplace = out.is_inplace && of.in_blocks.bytes.empty() && of.in_blocks.offsets.empty();
      if (has_lists) {
        check_list(of, of.out_blocks, in);
        if (out.is_inplace) break;
        check_list(of, of.in_blocks, in);
        check_same(of, of.in_blocks.bytes[in.rank()], of.out_blocks.bytes[in.rank()]);
        break;
      }
      out.block_bytes = block_of(of, got, in);
      if (!out.is_inplace) check_same(of, given, got);
      break;
    case collective_operation::reduce_scatter:
      if (!of.out_blocks.bytes.empty()) {
        check_blocks(of, of.out_blocks, in, out.is_inplace ? got : given);
        if (!out.is_inplace) check_same(of, of.out_blocks.bytes[in.rank()], got);
        break;
      }
      out.block_bytes = out.is_inplace ? block_of(of, got, in) : block_of(of, given, in);
      if (!out.is_inplace) check_same(of, out.block_bytes, got);
      break;
  }
  if (of.operation != collective_operation::reduce_scatter) {
    check_blocks(of, of.in_blocks, in, given);
    check_blocks(of, of.out_blocks, in, got);
  }
}

}  // namespace

shape shape_of(const collective::parts& of, group_state& in) {
  check_memory(of, in);
  if (of.root >= in.size())
    refuse_call(of.operation,
                fmt::format("there is no member {}; the group has members 0 to {}", of.root, in.size() - 1));
  shape out{.operation = of.operation,
            .rank = in.rank(),
            .size = in.size(),
            .root = of.root,
            .element_bytes = of.how.element_bytes,
            .is_commutative = of.how.is_commutative,
            .in_blocks = {of.in_blocks.bytes, of.in_blocks.offsets},
            .out_blocks = {of.out_blocks.bytes, of.out_blocks.offsets},
            .is_crowded = in.settings().is_crowded,
            .nodes = in.nodes()};
  size(out, of, in);
  refuse_large(of, out);
  refuse_overlap(of, out);
  const bool reduces = of.operation == collective_operation::reduce ||
                       of.operation == collective_operation::allreduce ||
                       of.operation == collective_operation::reduce_scatter ||
                       of.operation == collective_operation::scan || of.operation == collective_operation::exscan;
  if (reduces && of.how.combine == nullptr) refuse_call(of.operation, "the reduction has no function");
  for (const std::uint64_t each : of.out_blocks.bytes) {
    if (reduces && of.how.element_bytes != 0 && each % of.how.element_bytes != 0)
      refuse_call(of.operation, fmt::format("a block of {} bytes is no whole number of elements of {} bytes", each,
                                            of.how.element_bytes));
  }
  if (reduces && (of.how.element_bytes == 0 || out.block_bytes % of.how.element_bytes != 0)) {
    refuse_call(of.operation, fmt::format("{} bytes are no whole number of elements of {} bytes", out.block_bytes,
                                          of.how.element_bytes));
  }
  return out;
}

bool make_straight_shape(shape& out, const collective::parts& of, group_state& in, const collective_options& options) {
  if (in.nodes() != nullptr) return false;
  if (!options.algorithm.empty()) return false;
  if (!in.settings().algorithms.empty() && !base::algorithm_in(in.settings().algorithms, name_of(of.operation)).empty())
    return false;
  out.operation = of.operation;
  out.rank = in.rank();
  out.size = in.size();
  out.is_crowded = in.settings().is_crowded;
  if (of.operation == collective_operation::barrier) return true;
  out.root = of.root;
  out.block_bytes = of.out.bytes();
  out.element_bytes = of.how.element_bytes;
  out.is_commutative = of.how.is_commutative;
  if (!straight::can(out) || of.root >= in.size()) return false;
  const auto is_usable = [&](const const_buffer_ref& each) {
    return is_ordinary(each) && in.check_memory(each).why == core::memory_refusal::none;
  };
  if (!is_usable(of.out)) return false;
  if (of.operation == collective_operation::broadcast) return true;  // its input is its output
  if (!is_usable(of.in)) return false;
  out.is_inplace = of.is_inplace;
  const bool is_whole =
      out.element_bytes == out.block_bytes || (out.element_bytes != 0 && out.block_bytes % out.element_bytes == 0);
  if (!is_whole || of.how.combine == nullptr) return false;
  if (out.is_inplace) return true;
  const auto from = reinterpret_cast<std::uintptr_t>(of.in.address());
  const auto into = reinterpret_cast<std::uintptr_t>(of.out.address());
  const bool overlap = from < into ? into - from < out.block_bytes : from - into < out.block_bytes;
  return of.in.bytes() == out.block_bytes && !overlap;
}

}  // namespace weft::coll
