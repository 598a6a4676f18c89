// SPDX-License-Identifier: BSD-3-Clause
// The order of precedence: the algorithm that the call names, the one that WEFT_COLL names, the first rule that fits
// (algorithms/table.cpp).
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

constexpr std::size_t operation_count = static_cast<std::size_t>(operation::exscan) + 1;

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
    can = each.can(args);
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
  for (const rule& each : rules()) {
    if (!each.fits(args, bytes)) continue;
    out.algorithm = find(args, each.algorithm, can);
    if (!can) continue;
    out.why = chosen_by::rule;
    out.fitting = &each;
    return out;
  }
  // Lists of blocks and order leave fewer algorithms: the first that can.
  for (const algorithm& each : algorithms()) {
    if (each.operation != args.operation || !each.can(args)) continue;
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
      out = chosen.fitting->block_bytes_max == rule::any_bytes
                ? "the rule for any number of bytes"
                : fmt::format("the rule for blocks of up to {} bytes", chosen.fitting->block_bytes_max);
      if (chosen.fitting->is_oversubscribed)
        out += fmt::format(" where up to {} ranks share cores", chosen.fitting->members_max);
      if (chosen.fitting->members_min > 1) out += fmt::format(" and {} members or more", chosen.fitting->members_min);
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
