// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/collective_names.hpp"
#include "base/counted.hpp"
#include "coll/algorithms/short/bodies.hpp"
#include "coll/choose/choose.hpp"
#include "coll/group/group_state.hpp"
#include "coll/group/group_store.hpp"
#include "coll/schedule/counts.hpp"
#include "coll/schedule/schedule.hpp"
#include "weft-info/info.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::info {

namespace {

using coll::operation;

std::optional<operation> operation_named(std::string_view name) {
  for (const coll::algorithm& each : coll::algorithms())
    if (name_of(each.operation) == name) return each.operation;
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& why) { throw error{errc::invalid_argument, "--explain: " + why}; }

// Messages of rank 0 that travel alike.
struct alike {
  std::uint64_t count = 0;
  std::set<std::uint64_t> bytes;
  std::set<std::uint32_t> peers;
  std::string lines;  // of runtime::explain, for the first one
};

std::string list_of(const std::set<std::uint32_t>& ranks) {
  constexpr std::size_t shown_max = 8;
  std::string out = ranks.size() == 1 ? "rank" : "ranks";
  std::size_t shown = 0;
  for (const std::uint32_t each : ranks) {
    if (shown++ == shown_max) return out + ", ...";
    out += fmt::format("{} {}", shown == 1 ? "" : ",", each);
  }
  return out;
}

// The lines of an explanation behind the first, which has the number of bytes, moved in.
std::string moved_in(const std::string& text) {
  std::string out;
  for (std::size_t begin = text.find('\n') + 1; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    out += "  " + text.substr(begin, end - begin);
    begin = end;
  }
  return out;
}

// How the messages travel that rank 0 sends and receives. A message to it travels as one from it does.
std::string routes_of(const runtime& rt, const coll::schedule& steps) {
  std::map<std::string, alike> routes;  // by protocol and transport
  std::uint64_t unknown = 0;
  for (const coll::step& each : steps.steps()) {
    if (each.action != coll::action::send && each.action != coll::action::receive) continue;
    if (each.peer >= rt.size()) {
      ++unknown;
      continue;
    }
    const std::uint64_t bytes = each.action == coll::action::send ? each.from.bytes : each.into.bytes;
    const std::string lines = moved_in(rt.explain(each.peer, static_cast<std::size_t>(bytes)));
    const std::size_t transport = lines.find("  transport ");
    const auto line_at = [&](std::size_t begin) { return lines.substr(begin, lines.find('\n', begin) - begin); };
    alike& route = routes[line_at(0) + (transport == lines.npos ? "" : line_at(transport))];
    if (route.count++ == 0) route.lines = lines;
    route.bytes.insert(bytes);
    route.peers.insert(each.peer);
  }
  std::string out;
  for (const auto& [key, route] : routes) {
    const std::uint64_t least = *route.bytes.begin(), most = *route.bytes.rbegin();
    out += fmt::format("rank 0 and {}: {} of {}\n{}", list_of(route.peers), base::counted(route.count, "message"),
                       least == most ? base::counted(least, "byte") : fmt::format("{} to {} bytes", least, most),
                       route.lines);
  }
  if (unknown != 0)
    out += fmt::format("rank 0 and ranks that this job does not have: {}\n", base::counted(unknown, "message"));
  return out;
}

std::string explanation(runtime& rt, const coll::collective_args& args, std::string_view setting) {
  const coll::choice chosen = coll::choose(args, {}, setting);
  coll::schedule mine;
  chosen.algorithm->function(mine, args);
  std::string out =
      fmt::format("{}\nalgorithm {}: {}\n", coll::text_of(args), chosen.algorithm->name, coll::reason_of(chosen));
  const bool is_set = !base::algorithm_in(setting, name_of(args.operation)).empty();
  if (coll::has_short_body(args) && !is_set) out += "  without a graph where a thread waits for it\n";
  using base::counted;
  const coll::counts all = coll::count(*chosen.algorithm, args);
  out +=
      fmt::format("{}, {}, {}; a rank sends {} at most\n", counted(all.rounds, "round"),
                  counted(all.messages, "message"), counted(all.bytes, "byte"), counted(all.bytes_of_a_rank, "byte"));
  return out + routes_of(rt, mine);
}

}  // namespace

bool is_operation(const std::string& name) {
  if (operation_named(name)) return true;
  if (!name.empty() && name.find_first_not_of("0123456789") == name.npos) return false;
  refuse(fmt::format("'{}' is no rank and no operation; operations and their algorithms are {}", name,
                     base::all_algorithms()));
}

void print_collective_explanation(const std::string& name, std::uint64_t bytes, std::optional<std::uint32_t> ranks) {
  constexpr std::uint32_t ranks_max = 1024;  // some algorithms have a message for each pair of ranks
  runtime rt;
  const std::uint32_t size = ranks.value_or(rt.size());
  if (size < 1 || size > ranks_max)
    refuse(fmt::format("messages are counted for 1 to {} ranks, and not for {}; see --ranks", ranks_max, size));
  coll::collective_args args{.operation = *operation_named(name),
                             .size = size,
                             .block_bytes = bytes,
                             .element_bytes = bytes % 8 == 0 ? 8U : 1U};
  const auto world = coll::group_store::instance(rt).world();
  args.is_oversubscribed = world->settings().is_oversubscribed;
  if (size == rt.size()) args.nodes = world->nodes();
  if (args.operation == operation::barrier) args.block_bytes = 0;
  // Of all ranks: a count of more than 64 bits would be none.
  if (bytes > ~std::uint64_t{0} / size / size / 32) refuse(fmt::format("{} bytes are too many to be counted", bytes));
  if (rt.rank() == 0) fmt::print("{}", explanation(rt, args, world->settings().algorithms));
  rt.barrier();
}

}  // namespace weft::info
