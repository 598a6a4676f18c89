// SPDX-License-Identifier: BSD-3-Clause
#include "weft-perf/report/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "weft/error.hpp"

namespace weft::perf {
namespace {

constexpr std::array kinds{kind::latency,   kind::rate,        kind::stream,    kind::bandwidth,
                           kind::put,       kind::put_visible, kind::put_rate,  kind::get,
                           kind::ring,      kind::barrier,     kind::broadcast, kind::reduce,
                           kind::allreduce, kind::allgather,   kind::alltoall,  kind::reduce_scatter};
constexpr std::array operations{operation::am, operation::sendrecv, operation::receiver_first, operation::ordered};
constexpr std::array modes{mode::processes, mode::threads_dedicated, mode::threads_shared};
constexpr std::array memories{memory::ordinary, memory::weft};
constexpr std::array all_ends{strided::ends::both, strided::ends::sender, strided::ends::receiver};

template <class Values>
auto named(const Values& values, const std::string& name) {
  for (const auto each : values) {
    if (name_of(each) == name) return each;
  }
  throw error{errc::invalid_argument, fmt::format("'{}' is no word of a point", name)};
}

strided parse_blocks(const std::string& text) {
  std::istringstream words{text};
  std::array<std::string, 5> word;
  for (std::string& each : word) std::getline(words, each, '-');
  return {.block_bytes = std::stoull(word[1]),
          .stride_bytes = std::stoull(word[2]),
          .packed_ends = named(all_ends, word[3]),
          .by_loops = word[4] == "loops"};
}

}  // namespace

const char* name_of(strided::ends which) noexcept {
  switch (which) {
    case strided::ends::both: return "both";
    case strided::ends::sender: return "sender";
    case strided::ends::receiver: return "receiver";
  }
  return "unknown";
}

std::string strided::text() const {
  return fmt::format("{} B of {} B{}{}", block_bytes, stride_bytes,
                     packed_ends == ends::both ? "" : fmt::format(" at the {}", name_of(packed_ends)),
                     by_loops ? ", by loops" : "");
}

const char* name_of(kind metric) noexcept {
  switch (metric) {
    case kind::latency: return "latency";
    case kind::rate: return "rate";
    case kind::stream: return "stream";
    case kind::bandwidth: return "bandwidth";
    case kind::put: return "put";
    case kind::put_visible: return "put_visible";
    case kind::put_rate: return "put_rate";
    case kind::get: return "get";
    case kind::ring: return "ring";
    case kind::barrier: return "barrier";
    case kind::broadcast: return "broadcast";
    case kind::reduce: return "reduce";
    case kind::allreduce: return "allreduce";
    case kind::allgather: return "allgather";
    case kind::alltoall: return "alltoall";
    case kind::reduce_scatter: return "reduce_scatter";
  }
  return "unknown";
}

const char* name_of(operation which) noexcept {
  switch (which) {
    case operation::am: return "am";
    case operation::sendrecv: return "sendrecv";
    case operation::receiver_first: return "receiver-first";
    case operation::ordered: return "ordered";
  }
  return "unknown";
}

const char* name_of(mode which) noexcept {
  switch (which) {
    case mode::processes: return "processes";
    case mode::threads_dedicated: return "threads-dedicated";
    case mode::threads_shared: return "threads-shared";
  }
  return "unknown";
}

const char* name_of(memory where) noexcept { return where == memory::weft ? "weft" : "ordinary"; }

std::string point::claim() const {
  if (!claim_name.empty()) return claim_name;
  const std::string prefix = fmt::format("{}_", uses_defaults ? "plain" : threads > 1 ? "mt" : name_of(operation));
  switch (kind) {
    case kind::latency: return prefix + "latency";
    case kind::rate:
    case kind::stream: return prefix + "rate";
    case kind::bandwidth: return "bandwidth";
    case kind::put:
    case kind::put_visible: return "put_latency";
    case kind::put_rate: return "put_bandwidth";
    case kind::get: return "get_latency";
    default: return name_of(kind);
  }
}

bool point::is_latency() const noexcept {
  return kind == kind::latency || kind == kind::put || kind == kind::put_visible || kind == kind::get ||
         takes_all_ranks();
}

bool point::reduces() const noexcept {
  return kind == kind::reduce || kind == kind::allreduce || kind == kind::reduce_scatter;
}

const char* point::unit() const noexcept {
  if (is_latency()) return "ns";
  return kind == kind::bandwidth || kind == kind::put_rate ? "B/s" : "msg/s";
}

std::string point::text() const {
  const std::string of_blocks = blocks.block_bytes == 0
                                    ? ""
                                    : fmt::format(":blocks-{}-{}-{}-{}", blocks.block_bytes, blocks.stride_bytes,
                                                  name_of(blocks.packed_ends), blocks.by_loops ? "loops" : "layout");
  return fmt::format("{}:{}:{}:{}:{:g}:{}:{}:{}{}{}{}", name_of(kind), bytes, threads, window, seconds * 1000,
                     name_of(operation), name_of(mode), name_of(memory), uses_defaults ? ":plain" : "", of_blocks,
                     group.algorithm.empty() ? "" : ":by-" + group.algorithm);
}

point point::parse(const std::string& text) {
  std::istringstream words{text};
  std::array<std::string, 8> word;
  for (std::string& each : word) std::getline(words, each, ':');
  point out;
  out.kind = named(kinds, word[0]);
  try {
    out.bytes = std::stoull(word[1]);
    out.threads = static_cast<std::uint32_t>(std::stoul(word[2]));
    out.window = static_cast<std::uint32_t>(std::stoul(word[3]));
    out.seconds = std::stod(word[4]) / 1000;
    for (std::string more; std::getline(words, more, ':');) {
      if (more.starts_with("blocks-")) out.blocks = parse_blocks(more);
      if (more.starts_with("by-")) out.group.algorithm = more.substr(3);
      out.uses_defaults |= more == "plain";
    }
  } catch (const std::exception&) {
    throw error{errc::invalid_argument, fmt::format("'{}' is no point: a number is missing", text)};
  }
  out.operation = named(operations, word[5]);
  out.mode = named(modes, word[6]);
  out.memory = named(memories, word[7]);
  return out;
}

std::uint32_t window_for(std::size_t bytes) noexcept {
  constexpr std::size_t held = std::size_t{16} << 20;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(bytes == 0 ? 64 : held / bytes, 2, 64));
}

}  // namespace weft::perf
