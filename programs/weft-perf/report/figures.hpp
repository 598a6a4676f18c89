// SPDX-License-Identifier: BSD-3-Clause
// One result: a line of a table for people, or an object on a line of its own.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft-perf/report/goal.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// Weft once more, in a comparison with MPI: shown beside the others, but no peer.
inline constexpr std::string_view unbound_weft = "Weft, unbound";
inline constexpr std::string_view threads_weft = "Weft, threads";
/// What Weft's MPI is held against: Weft's own calls, or its own vectors packed and unpacked by loops.
inline constexpr std::string_view own_weft = "Weft, own calls";
inline constexpr std::string_view mpi_by_loops = "Weft's MPI, by loops";
/// Begins the name of Weft by an algorithm, or by loops.
inline constexpr std::string_view weft_by = "Weft, by ";
inline constexpr std::string_view weft_by_loops = "Weft, by loops";
inline constexpr std::string_view weft_side_by_side = "Weft, side by side in packets";
inline constexpr std::string_view mpi_of_weft = "Weft's MPI";
inline constexpr std::array no_peers{unbound_weft, threads_weft, weft_side_by_side,
                                     own_weft,     mpi_by_loops, mpi_of_weft};

/// Threads are even from this part of the median on that the slowest thread moved.
inline constexpr double even_from = 0.5;

/// The rounds of Weft.
struct own_result : summary {
  using summary::operator=;
  double slowest_to_median = 1;  ///< the messages of the slowest thread, as a part of the median of all
  path_mix paths{};
  bool is_verified = false;
};

/// The rounds of a peer under the same label.
struct peer_result : summary {
  using summary::operator=;
  std::optional<double> slowest_to_median{};  ///< nothing: its threads were not counted
};

/// The state of the machine in the rounds.
struct round_conditions {
  std::string label;
  std::string pinning;
  std::string provider;    ///< names libfabric's; empty: not over a network
  summary handover;        ///< zeros: unknown
  summary exchange_limit;  ///< bounds a latency; zeros: unknown
};

/// The best that was measured, in the figure's unit.
struct figure_limit {
  std::optional<double> best;
  std::string name;
  double spread = 0;  ///< how far the best quartile of its rounds stays behind
};

struct figure {
  std::string claim;
  std::string detail;  ///< which of several figures of one claim, as in `origin`; may be empty
  std::string unit;
  std::string mode;
  std::map<std::string, std::uint64_t> settings;  ///< further fields of the line, as in `devices`
  std::uint64_t bytes = 0;
  std::uint32_t threads = 1;
  std::uint32_t window = 1;
  bool more_is_better = false;
  round_conditions conditions;
  own_result weft;
  std::map<std::string, peer_result> peers;
  std::vector<std::string> absent;  ///< peers that are not installed
  figure_limit limit;
  goal aim;

  /// Takes the best of a limit's rounds; nothing happens where there are none.
  void bound_by(const std::string& name, const summary& rounds);
  /// What exceeds its limit by more than the limit's spread shows that the limit is none.
  [[nodiscard]] bool is_limit_wrong() const noexcept;
  /// One line that says so.
  [[nodiscard]] std::string wrong_limit() const;

  /// A figure whose slowest thread moved less than half of the median does not count.
  [[nodiscard]] bool counts() const noexcept { return weft.slowest_to_median >= even_from; }
  /// The name of the fastest peer, also one whose threads are uneven; empty: there is none. Without the uneven ones,
  /// the best peer could be a slow one, a thousand times behind, and the ratio would be of no two that are alike.
  [[nodiscard]] std::string best_peer() const;
  /// The peers whose slowest thread moved less than half of the median, by name.
  [[nodiscard]] std::vector<std::string> uneven_peers() const;
  /// Above 1: Weft is ahead of the best peer; at least so far where that one's threads are uneven, as a thread that
  /// starves takes no time from the others.
  [[nodiscard]] std::optional<double> ratio() const;
  /// Whether Weft is ahead of the best peer as far as was aimed at; true without an aim, and without a peer.
  [[nodiscard]] bool meets_aim() const;
  /// How much of the limit is reached; at most about 1.
  [[nodiscard]] std::optional<double> fraction() const;
};

[[nodiscard]] std::string to_json(const figure& row);

/// For people: a heading and a line for each figure.
[[nodiscard]] std::string table_heading(bool with_peers);
[[nodiscard]] std::string table_row(const figure& row, bool with_peers);

/// Prints a figure as it comes; the heading before the first.
class printer {
 public:
  printer(bool json, bool with_peers) noexcept : json_{json}, with_peers_{with_peers} {}
  void print(const figure& row);
  /// Says which peers are not installed.
  void name_absent(const std::vector<std::string>& names);
  /// Says on standard error which of the printed figures had a limit that is none, a line each.
  void name_wrong_limits() const;

 private:
  std::vector<std::string> wrong_limits_;
  bool json_;
  bool with_peers_;
  bool begun_ = false;
};

/// `12.3 ns`, `8.21 us`, `55.1 M msg/s`, `11.2 GB/s`.
[[nodiscard]] std::string readable(double value, const std::string& unit);

/// `8 B`, `64 KiB`.
[[nodiscard]] std::string readable_size(std::uint64_t bytes);

}  // namespace weft::perf
