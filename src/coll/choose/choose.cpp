// SPDX-License-Identifier: BSD-3-Clause
// The order of precedence: the algorithm that the call names, the one that WEFT_COLL names, the first rule that fits.
//
// The rules follow the formulas at the heads of the algorithms: few rounds where messages are short, few bytes where
// they are long. Algorithms on two levels can be taken where the group has several nodes, and the rules then choose for
// each of their phases.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "base/collective_names.hpp"
#include "base/counted.hpp"
#include "base/log.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/algorithms/table.hpp"
#include "coll/choose/choose.hpp"
#include "coll/schedule/blocks.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t any = ~std::uint64_t{0};
constexpr std::size_t operation_count = static_cast<std::size_t>(operation::exscan) + 1;

struct rule {
  coll::operation operation;
  std::uint64_t block_bytes_max;
  std::uint32_t members_min;
  std::string_view algorithm;
  bool is_oversubscribed = false;  // holds only where ranks share cores, in groups of at most `members_max`
  std::uint32_t members_max = linear_members_max;
};

constexpr std::array rules{
    // Rules for groups on several nodes. The rules below choose for each phase.
    rule{operation::barrier, any, 1, "two-level"},
    rule{operation::broadcast, any, 1, "two-level"},
    rule{operation::reduce, any, 1, "two-level"},
    rule{operation::allreduce, any, 1, "two-level"},
    rule{operation::allgather, any, 1, "two-level"},
    // Each wait costs a turn of all ranks of a core where ranks share cores: an algorithm in which a rank waits once
    // is best.
    rule{operation::barrier, any, 1, "linear", true},
    rule{operation::broadcast, 4 * kib, 1, "linear", true},
    rule{operation::reduce, 4 * kib, 1, "linear", true},
    rule{operation::allreduce, 4 * kib, 1, "linear", true},
    // Measurements of 4 ranks on two cores: with few members this holds as long as a core that works alone at the root
    // loses less than the other members' waits.
    rule{operation::broadcast, 1024 * kib, 1, "binomial", true, 8},
    rule{operation::reduce, 256 * kib, 1, "linear", true, 8},
    rule{operation::reduce, 1024 * kib, 1, "binomial", true, 8},
    rule{operation::allreduce, 256 * kib, 1, "linear", true, 8},
    rule{operation::alltoall, any, 1, "linear", true, 8},
    rule{operation::reduce_scatter, kib, 1, "pairwise", true, 8},
    rule{operation::barrier, any, 1, "dissemination"},
    rule{operation::broadcast, 64 * kib, 1, "binomial"},
    rule{operation::broadcast, any, 4, "scatter-allgather"},
    rule{operation::broadcast, any, 1, "binomial"},
    rule{operation::reduce, 32 * kib, 1, "binomial"},
    rule{operation::reduce, any, 4, "rabenseifner"},
    rule{operation::reduce, any, 1, "binomial"},
    rule{operation::allreduce, 16 * kib, 1, "recursive-doubling"},
    rule{operation::allreduce, any, 1, "rabenseifner"},
    rule{operation::gather, kib, 4, "binomial"},
    rule{operation::gather, any, 1, "linear"},
    rule{operation::scatter, kib, 4, "binomial"},
    rule{operation::scatter, any, 1, "linear"},
    // The bytes of a ring, in fewer rounds.
    rule{operation::allgather, 64 * kib, 1, "recursive-doubling"},
    rule{operation::allgather, 4 * kib, 1, "bruck"},
    rule{operation::allgather, any, 1, "ring"},
    rule{operation::allgather, any, 1, "bruck"},
    rule{operation::alltoall, 256, 16, "bruck"},
    rule{operation::alltoall, 32 * kib, 1, "linear"},
    rule{operation::alltoall, any, 1, "pairwise"},
    rule{operation::reduce_scatter, 4 * kib, 1, "recursive-halving"},
    rule{operation::reduce_scatter, any, 1, "pairwise"},
    rule{operation::scan, any, 1, "recursive-doubling"},
    rule{operation::exscan, any, 1, "recursive-doubling"},
};

// The mean of blocks of different sizes where all members know them.
std::uint64_t bytes_of_block(const collective_args& args) noexcept {
  const std::span<const std::uint64_t> bytes = args.out_blocks.bytes;
  const bool all_know = args.operation == operation::allgather || args.operation == operation::reduce_scatter;
  if (!all_know || bytes.empty()) return args.block_bytes;
  return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) / bytes.size();
}

// Null: there is none. Otherwise `can` says whether it can do this.
const algorithm* find(const collective_args& args, std::string_view name, bool& can) noexcept {
  for (const algorithm& each : algorithms()) {
    if (each.operation != args.operation || each.name != name) continue;
    can = each.can == nullptr || each.can(args);
    return &each;
  }
  return nullptr;
}

[[noreturn]] void refuse(const collective_args& args, std::string_view wanted, bool is_there) {
  std::string names;
  for (const algorithm& each : algorithms()) {
    if (each.operation == args.operation) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw error{errc::invalid_argument,
              fmt::format("{}: {} '{}'; there are {}", name_of(args.operation),
                          is_there ? "this can't be done by algorithm" : "there is no algorithm", wanted, names)};
}

}  // namespace

choice choose(const collective_args& args, std::string_view wanted, std::string_view setting) {
  bool can = false;
  if (!wanted.empty()) {
    const algorithm* const found = find(args, wanted, can);
    if (found == nullptr || !can) refuse(args, wanted, found != nullptr);
    return {.algorithm = found, .why = chosen_by::call};
  }
  choice out;
  if (!setting.empty()) [[unlikely]] {
    const std::string_view named = base::algorithm_in(setting, name_of(args.operation));
    const algorithm* const found = named.empty() ? nullptr : find(args, named, can);
    if (found != nullptr && can) return {.algorithm = found, .why = chosen_by::setting};
    out.unable = named;
  }
  const std::uint64_t bytes = bytes_of_block(args);
  for (const rule& each : rules) {
    if (each.operation != args.operation || bytes > each.block_bytes_max || args.size < each.members_min) continue;
    if (each.is_oversubscribed && (!args.is_oversubscribed || args.size > each.members_max)) continue;
    out.algorithm = find(args, each.algorithm, can);
    if (out.algorithm == nullptr || !can) continue;
    out.why = chosen_by::rule;
    out.bytes_max = each.block_bytes_max;
    out.members_min = each.members_min;
    out.is_oversubscribed = each.is_oversubscribed;
    out.members_max = each.members_max;
    return out;
  }
  // Lists of blocks and order leave fewer algorithms: the first that can.
  for (const algorithm& each : algorithms()) {
    if (each.operation != args.operation || (each.can != nullptr && !each.can(args))) continue;
    out.algorithm = &each;
    out.why = chosen_by::restriction;
    return out;
  }
  refuse(args, "", false);
}

std::string reason_of(const choice& chosen) {
  std::string out;
  switch (chosen.why) {
    case chosen_by::call: return "the call names it";
    case chosen_by::setting: return "WEFT_COLL names it";
    case chosen_by::restriction: out = "no rule fits; it is the first that can do this"; break;
    case chosen_by::rule:
      out = chosen.bytes_max == any ? "the rule for any number of bytes"
                                    : fmt::format("the rule for blocks of up to {} bytes", chosen.bytes_max);
      if (chosen.is_oversubscribed) out += fmt::format(" where up to {} ranks share cores", chosen.members_max);
      if (chosen.members_min > 1) out += fmt::format(" and {} members or more", chosen.members_min);
      break;
  }
  return chosen.unable.empty() ? out : fmt::format("{}; WEFT_COLL names {}, which can't do this", out, chosen.unable);
}

std::string text_of(const collective_args& args) {
  std::string out{name_of(args.operation)};
  if (!has_equal_blocks(args)) {
    out += " of blocks of different sizes";
  } else if (args.operation != operation::barrier) {
    out += " of " + base::counted(args.block_bytes, "byte");
  }
  return out + " among " + base::counted(args.size, "member");
}

void log_choice(const collective_args& args, const choice& chosen) noexcept {
  if (args.rank != 0) return;
  static std::array<base::said_once, operation_count> said;
  try {
    if (!chosen.unable.empty()) {
      base::log_once(said[static_cast<std::size_t>(args.operation)], base::log_level::warn,
                     "WEFT_COLL: {} is done by {}, as {} can't do this (WEFT_LOG=debug names each such case)",
                     text_of(args), chosen.algorithm->name, chosen.unable);
    }
    if (base::log_enabled(base::log_level::debug))
      base::log_debug("{}: {}, as {}", text_of(args), chosen.algorithm->name, reason_of(chosen));
  } catch (const std::bad_alloc&) {
    base::log_debug("a collective: out of memory for the line about its algorithm");
  }
}

}  // namespace weft::coll
