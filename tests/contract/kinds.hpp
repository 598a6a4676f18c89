// SPDX-License-Identifier: BSD-3-Clause
// The transports that the contract tests run over, and what each of them must be able to do; promises_test.cpp holds it
// to that. A capability that may be absent would otherwise be absent unseen.
#pragma once

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "base/config.hpp"
#include "base/fast_paths.hpp"
#include "net/transports.hpp"

namespace weft::contract {

/// Between two ranks of one process, and with the settings of job.hpp.
struct promises {
  bool copies = false;            // read_remote and write_remote copy, planned denials apart
  bool maps_peer_memory = false;  // peers map each other's shared memory, planned denials apart
  bool has_routes = false;        // small messages may be pushed into the ring that route_to names
  bool wakes_sleepers = false;    // a message wakes the thread that sleeps at its device's word
  bool takes_words = false;       // it calls a sink's take_word
  bool counts_traffic = false;    // it sends over a fabric
  bool reaches_itself = false;    // its peer is the rank itself
};

struct kind {
  std::string name;
  promises promised;
  std::function<std::unique_ptr<net::transport>(const net::transport_context&)> make;
  std::string provider = {};  // of libfabric

  /// Why it can't be tested on this machine; empty where it can.
  [[nodiscard]] std::string absent() const {
    if (provider.empty()) return {};
    const auto found = net::ofi::ofi_transport::found_here();
    if (std::find(found.begin(), found.end(), provider) != found.end()) return {};
    return "libfabric has no provider " + provider + " here";
  }
  friend void PrintTo(const kind& shown, std::ostream* out) { *out << shown.name; }
};

template <class Transport>
[[nodiscard]] std::unique_ptr<net::transport> make(const net::transport_context& context) {
  return std::make_unique<Transport>(context);
}

[[nodiscard]] inline kind over_self() {
  return {"self", {.copies = true, .wakes_sleepers = true, .reaches_itself = true}, make<net::self_transport>};
}

[[nodiscard]] inline kind over_shm() {
  return {"shm",
          {.copies = true,
           .maps_peer_memory = true,
           .has_routes = true,
           .wakes_sleepers = true,
           .takes_words = base::has_fast_paths},
          make<net::shm::shm_transport>};
}

/// Over the provider of libfabric that has this name.
[[nodiscard]] inline kind over_ofi(const std::string& provider) {
  std::string name = "ofi_" + provider;
  std::replace(name.begin(), name.end(), ';', '_');  // between the parts of a provider's name
  return {name, {.counts_traffic = true}, make<net::ofi::ofi_transport>, provider};
}

/// It promises what the wrapped transport does, but every message goes through an inbox that may hold it back.
[[nodiscard]] inline kind simulated(const kind& wrapped) {
  kind out = wrapped;
  out.name = "sim_" + wrapped.name;
  out.promised.has_routes = out.promised.wakes_sleepers = out.promised.takes_words = false;
  out.make = [wrapped](const net::transport_context& context) -> std::unique_ptr<net::transport> {
    return std::make_unique<net::sim::sim_transport>(context, wrapped.make(context));
  };
  return out;
}

[[nodiscard]] inline std::vector<kind> every_kind() {
  return {over_self(),
          over_shm(),
          simulated(over_self()),
          simulated(over_shm()),
          over_ofi("net"),
          over_ofi("tcp"),
          over_ofi("tcp;ofi_rxm"),
          over_ofi("udp;ofi_rxd"),
          over_ofi("shm"),
          simulated(over_ofi("net"))};
}

/// Provider shm of libfabric names its file after its process, and a process that is killed leaves it: a later process
/// with that number takes itself for its owner, and finds it busy. So before its first use nothing may be there.
inline void remove_files_of_namesakes() {
  static const bool once = [] {
    const std::string mine = std::to_string(::getpid()) + ":";
    std::error_code ignored;
    for (const auto& file : std::filesystem::directory_iterator{"/dev/shm", ignored}) {
      if (file.path().filename().string().starts_with(mine)) std::filesystem::remove(file.path(), ignored);
    }
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace weft::contract
