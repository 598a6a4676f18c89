// SPDX-License-Identifier: BSD-3-Clause
// The contestants of a comparison: Weft, and every peer that is found here.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weft-perf/compare/launch.hpp"
#include "weft-perf/options.hpp"
#include "weft-perf/report/point.hpp"
#include "weft-perf/report/rounds.hpp"

namespace weft::perf {

/// For each point, in their order, the sample of one round; nothing where the contestant can't measure that point.
using round_result = std::vector<std::optional<sample>>;

struct contestant {
  std::string name;
  std::function<round_result(const std::vector<point>&)> run;  ///< **Errors**: `transport_failed`, with its own words
};

struct peer_list {
  std::vector<contestant> present;
  std::vector<contestant> with_blocks;    ///< each MPI by its vector type, and by loops
  std::vector<contestant> with_defaults;  ///< programs of `uses_defaults`, as launchers start them, and bound
  std::vector<contestant> of_all_ranks;   ///< that measure points in which all ranks take part together
  std::vector<contestant> mpis;           ///< of `present`, the MPIs
  std::vector<contestant> own_mpi;        ///< Weft's, under the name of Weft, and by loops; none: not installed
  std::vector<std::string> absent;        ///< peers that are not installed
};

/// Weft, measured by this program's own ranks. All points that are run together have one provider.
[[nodiscard]] contestant weft_itself(const options& chosen);

/// Weft with a device for each thread, to hold a shared one against: `Weft, dedicated devices`.
[[nodiscard]] contestant weft_dedicated(const options& chosen);

/// Weft where no rank is bound, to compare with weft-run's default.
[[nodiscard]] contestant weft_unbound(const options& chosen);

/// Weft by its own calls, beside its MPI.
[[nodiscard]] contestant weft_by_own_calls(const options& chosen);

/// Weft by each algorithm that is named, as `Weft, by ring`; where an operation has no such one, it takes no part.
[[nodiscard]] std::vector<contestant> weft_by_algorithms(const options& chosen);

/// Weft as a program that packs and unpacks by loops, and with buffers whose bytes lie side by side and go by packets.
[[nodiscard]] contestant weft_packing_by_loops(const options& chosen);
[[nodiscard]] contestant weft_in_packets(const options& chosen);

/// The provider of libfabric that two processes of this machine reach each other by over TCP: `net`, or `tcp` where
/// libfabric is too new to have that. Empty: Weft finds none; says why. **Blocking**: two ranks are started.
[[nodiscard]] std::string find_network_provider();

/// Each adds the peers that it finds to the list, and builds their programs in `folder`.
void add_mpi_peers(peer_list& to, const options& chosen, const std::string& folder);
void add_own_mpi(peer_list& to, const options& chosen, const std::string& folder);
void add_ucx_peer(peer_list& to);
void add_libfabric_peer(peer_list& to);

/// A table, queue or fiber library that has one of `claims`, for `resources`. A round of it takes
/// `NAME:THREADS:MILLISECONDS`.
struct component_peer {
  std::string name;
  std::string claim;
  std::string program;
};
struct component_peer_list {
  std::vector<component_peer> present;
  std::vector<std::string> absent;
};
[[nodiscard]] component_peer_list find_component_peers(const options& chosen, const std::string& folder,
                                                       const std::set<std::string>& claims);
[[nodiscard]] sample measure_component_peer(const component_peer& peer, std::uint32_t threads, double seconds);

/// Lines `sample INDEX VALUE BEFORE AFTER SHARE`; Weft's have `limit=NS` and the paths behind that.
[[nodiscard]] round_result parse_samples(const std::string& output, std::size_t points);

/// A source that is compiled for a peer. **Errors**: `configuration` where it does not lie where it should.
[[nodiscard]] std::string peer_source(const options& chosen, const std::string& file);

}  // namespace weft::perf
