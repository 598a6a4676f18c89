// Starts collectives: makes the shape that an algorithm needs from the buffers and options of the call, and runs it.
#include "weft/collectives.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/callback_scope.hpp"
#include "base/collective_names.hpp"
#include "coll/buffers.hpp"
#include "coll/checked.hpp"
#include "coll/choose.hpp"
#include "coll/group_state.hpp"
#include "coll/run.hpp"
#include "coll/shape.hpp"
#include "coll/straight.hpp"
#include "weft/error.hpp"

namespace weft {

namespace {

using coll::group_state;
using coll::kept_run;
using coll::shape;

[[noreturn]] void refuse(collective_operation which, const std::string& why) {
  throw error{errc::invalid_argument, fmt::format("{}: {}", name_of(which), why)};
}

void check_memory(const collective::parts& of, const group_state& in) {
  for (const const_buffer_ref& each : {of.in, const_buffer_ref{of.out}}) {
    if (coll::is_ordinary(each) && each.bytes() == 0) continue;
    const core::refused_memory found = in.check_memory(each);
    if (found.why != core::memory_refusal::none) [[unlikely]]
      refuse(of.operation, fmt::format("{} (kind: {})", core::reason_of(found.why), found.kind));
  }
}

void check_blocks(const collective::parts& of, const blocks& lists, const group_state& in, std::uint64_t bytes) {
  if (lists.bytes.empty() && lists.offsets.empty()) return;
  if (lists.bytes.size() != in.size() || lists.offsets.size() != in.size()) {
    refuse(of.operation, fmt::format("{} sizes and {} offsets of blocks, but the group has {} members",
                                     lists.bytes.size(), lists.offsets.size(), in.size()));
  }
  for (std::uint32_t member = 0; member < in.size(); ++member) {
    if (lists.offsets[member] > bytes || lists.bytes[member] > bytes - lists.offsets[member]) {
      refuse(of.operation, fmt::format("the block of member {} ({} bytes from {} on) leaves the buffer of {} bytes",
                                       member, lists.bytes[member], lists.offsets[member], bytes));
    }
  }
}

void check_list(const collective::parts& of, const blocks& lists, const group_state& in) {
  if (lists.bytes.size() != in.size())
    refuse(of.operation,
           fmt::format("{} blocks are given, but the group has {} members", lists.bytes.size(), in.size()));
}

// `whole` in as many blocks as there are members.
std::uint64_t block_of(const collective::parts& of, std::uint64_t whole, const group_state& in) {
  if (whole % in.size() != 0)
    refuse(of.operation, fmt::format("{} bytes can't be {} blocks of one size", whole, in.size()));
  return whole / in.size();
}

void check_same(const collective::parts& of, std::uint64_t a, std::uint64_t b) {
  if (a != b) refuse(of.operation, fmt::format("input and output have {} and {} bytes, which have to fit", a, b));
}

// The sizes of a collective, as this member gives them.
void size(shape& out, const collective::parts& of, const group_state& in) {
  const std::uint64_t given = of.in.bytes(), got = of.out.bytes();
  const bool is_root = of.root == in.rank();
  const bool has_lists = !of.in_blocks.bytes.empty() || !of.out_blocks.bytes.empty() || of.root_has_blocks;
  out.root_has_list = of.root_has_blocks;
  out.is_inplace = of.in.address() == nullptr && of.in.bytes() == 0 && of.out.bytes() != 0;
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
      out.is_inplace = out.is_inplace && is_root;
      out.block_bytes = out.is_inplace ? got : given;
      if (is_root && !out.is_inplace) check_same(of, given, got);
      break;
    case collective_operation::gather:
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
      out.is_inplace = is_root && of.out.address() == nullptr && got == 0 && given != 0;
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

shape shape_of(const collective::parts& of, const group_state& in) {
  check_memory(of, in);
  if (of.root >= in.size())
    refuse(of.operation, fmt::format("there is no member {}; the group has members 0 to {}", of.root, in.size() - 1));
  shape out{.operation = of.operation,
            .rank = in.rank(),
            .size = in.size(),
            .root = of.root,
            .element_bytes = of.how.element_bytes,
            .is_commutative = of.how.is_commutative,
            .in_blocks = {of.in_blocks.bytes, of.in_blocks.offsets},
            .out_blocks = {of.out_blocks.bytes, of.out_blocks.offsets},
            .is_crowded = in.is_crowded()};
  size(out, of, in);
  coll::refuse_large(of, out);
  coll::refuse_overlap(of, out);
  const bool reduces = of.operation == collective_operation::reduce ||
                       of.operation == collective_operation::allreduce ||
                       of.operation == collective_operation::reduce_scatter ||
                       of.operation == collective_operation::scan || of.operation == collective_operation::exscan;
  if (reduces && of.how.combine == nullptr) refuse(of.operation, "the reduction has no function");
  for (const std::uint64_t each : of.out_blocks.bytes) {
    if (reduces && of.how.element_bytes != 0 && each % of.how.element_bytes != 0)
      refuse(of.operation,
             fmt::format("a block of {} bytes is no whole number of elements of {} bytes", each, of.how.element_bytes));
  }
  if (reduces && (of.how.element_bytes == 0 || out.block_bytes % of.how.element_bytes != 0)) {
    refuse(of.operation,
           fmt::format("{} bytes are no whole number of elements of {} bytes", out.block_bytes, of.how.element_bytes));
  }
  return out;
}

group_state& checked(const std::shared_ptr<group_state>& of, collective_operation which) {
  if (of == nullptr)
    refuse(which, "the group is none: it was never made, was moved from, or this rank is in none of a split");
  return *of;
}

// A run of the group's that is free, or a new one.
kept_run& free_run(group_state& in, const shape& of, const collective::parts& parts, std::string_view algorithm) {
  const coll::choice chosen = coll::choose(of, algorithm, in.setting());
  for (const auto& each : in.kept()) {
    if (!each->is_running() && each->is(*chosen.how, of, parts.how)) return *each;
  }
  constexpr std::size_t kept_max = 16;
  if (in.kept().size() >= kept_max) {
    std::erase_if(in.kept(), [](const auto& each) { return !each->is_running(); });
  }
  coll::log_choice(of, chosen);
  return *in.kept().emplace_back(std::make_unique<kept_run>(nullptr, in, *chosen.how, of, parts.how));
}

// The shape of a blocking collective that has a body of its own, which is the algorithm that the rules choose. False if
// it has none, the call or WEFT_COLL names an algorithm, or anything is unusual or wrong: `shape_of` finds that out.
bool make_straight_shape(shape& out, const collective::parts& of, const group_state& in,
                         const collective_options& options) noexcept {
  if (!options.algorithm.empty() || in.wants_barrier()) return false;
  if (!in.setting().empty() && !base::algorithm_in(in.setting(), name_of(of.operation)).empty()) return false;
  out.operation = of.operation;
  out.rank = in.rank();
  out.size = in.size();
  out.is_crowded = in.is_crowded();
  if (of.operation == collective_operation::barrier) return true;
  out.root = of.root;
  out.block_bytes = of.out.bytes();
  out.element_bytes = of.how.element_bytes;
  out.is_commutative = of.how.is_commutative;
  if (!coll::straight::can(out) || of.root >= in.size()) return false;
  for (const const_buffer_ref& each : {of.in, const_buffer_ref{of.out}}) {
    if (!coll::is_ordinary(each) || in.check_memory(each).why != core::memory_refusal::none) return false;
  }
  if (of.operation == collective_operation::broadcast) return true;
  out.is_inplace = of.in.address() == nullptr && of.in.bytes() == 0;
  const bool is_whole =
      out.element_bytes == out.block_bytes || (out.element_bytes != 0 && out.block_bytes % out.element_bytes == 0);
  return is_whole && of.how.combine != nullptr && (out.is_inplace || of.in.bytes() == out.block_bytes);
}

// Of a checked group: as `shape_of` and `free_run`. If this member refuses its arguments, it tells the others, which
// wait for its part.
kept_run& checked_run(group_state& in, const collective::parts& parts, std::string_view algorithm) {
  try {
    return free_run(in, shape_of(parts, in), parts, algorithm);
  } catch (const error&) {
    const auto& told = in.kept().emplace_back(std::make_unique<kept_run>(in, parts.operation));
    told->start(in.arrived(), nullptr);
    throw;
  }
}

}  // namespace

void collective::run(group& in, const collective_options& options) const {
  base::refuse_in_callback(name_of(parts_.operation).data());
  group_state& state = checked(in.state_, parts_.operation);
  if (state.is_checked()) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    kept_run& by = checked_run(state, parts_, options.algorithm);
    by.use(parts_.in, parts_.out);
    return by.run();
  }
  shape straight;
  if (make_straight_shape(straight, parts_, state, options)) {
    if (state.is_first_straight(straight.operation)) coll::log_choice(straight, coll::choose(straight, {}, {}));
    return coll::straight::run(state, straight, parts_.in, parts_.out, parts_.how);
  }
  const shape of = shape_of(parts_, state);
  kept_run& by = free_run(state, of, parts_, options.algorithm);
  by.use(parts_.in, parts_.out);
  by.run();
}

status collective::post(group& in, completion& local, const collective_options& options, void* context) const {
  group_state& state = checked(in.state_, parts_.operation);
  if (state.is_checked()) [[unlikely]] {
    const coll::only_thread mine{state, parts_.operation};
    kept_run& by = checked_run(state, parts_, options.algorithm);
    by.use(parts_.in, parts_.out);
    by.start(local, context);
    return status::posted(0);
  }
  const shape of = shape_of(parts_, state);
  kept_run& by = free_run(state, of, parts_, options.algorithm);
  by.use(parts_.in, parts_.out);
  by.start(local, context);
  return status::posted(0);
}

persistent_collective collective::keep(group& in, const collective_options& options) const {
  group_state& state = checked(in.state_, parts_.operation);
  const shape of = shape_of(parts_, state);
  const coll::choice chosen = coll::choose(of, options.algorithm, state.setting());
  coll::log_choice(of, chosen);
  auto made = std::make_unique<kept_run>(in.state_, state, *chosen.how, of, parts_.how);
  made->use(parts_.in, parts_.out);
  return persistent_collective{std::move(made)};
}

persistent_collective::persistent_collective(std::unique_ptr<kept_run> of) noexcept : run_{std::move(of)} {}
persistent_collective::persistent_collective(persistent_collective&&) noexcept = default;
persistent_collective& persistent_collective::operator=(persistent_collective&&) noexcept = default;
persistent_collective::~persistent_collective() = default;

status persistent_collective::start(completion& local, void* context) {
  run_->start(local, context);
  return status::posted(0);
}
void persistent_collective::run() {
  base::refuse_in_callback("a collective");
  run_->run();
}
bool persistent_collective::is_running() const noexcept { return run_->is_running(); }

}  // namespace weft
