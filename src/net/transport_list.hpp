// SPDX-License-Identifier: BSD-3-Clause
// The value of WEFT_TRANSPORT: names of transports in their order of preference, some of them under simulation.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::base {
struct settings;
}

namespace weft::net {

struct listed_transport {
  std::string name;
  bool simulated = false;  // `sim:` stood before it

  friend bool operator==(const listed_transport&, const listed_transport&) = default;
};

/// Reads `shm,sim:self` and the like. `known` has the names of all transports. The first of them is the transport of a
/// rank to itself, which is the first in the result even if it is not listed. If `standard` is true, an unknown name is
/// left out (the list is the default, and this build may have fewer transports); else it is an error. `origin` says in
/// messages where the text is from.
///
/// **Errors**: `configuration` for a name that is unknown, empty, listed twice or wrapped twice.
[[nodiscard]] std::vector<listed_transport> parse_transport_list(
    std::string_view text, std::span<const std::string_view> known, bool standard,
    std::string_view origin = "environment variable WEFT_TRANSPORT");

/// The transports of WEFT_TRANSPORT in this build (transports.cpp). **Errors**: those of `parse_transport_list`.
[[nodiscard]] std::vector<listed_transport> listed_transports(const base::settings& settings);

/// Refuses settings that the transports of a runtime would refuse, before there is one (transports.cpp). **Errors**:
/// `configuration`.
void check_settings(const base::settings& settings);

/// A transport of this build, and its finds on this machine: a line for each provider, device or the like.
struct available_transport {
  std::string_view name;
  std::vector<std::string> found;
};

/// Text for people (transports.cpp). It may ask the system for a while.
[[nodiscard]] std::vector<available_transport> available_transports();

}  // namespace weft::net
