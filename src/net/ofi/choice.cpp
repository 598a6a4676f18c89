// SPDX-License-Identifier: BSD-3-Clause
#include "net/ofi/choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "net/ofi/fabric_channel.hpp"
#include "weft/error.hpp"

namespace weft::net::ofi {
namespace {

using namespace std::string_view_literals;
using base::clock;

// Providers that reach other machines. The better tcp is `net` in 1.x, and `tcp` in 2.x.
constexpr std::array candidates{"net"sv, "tcp"sv, "tcp;ofi_rxm"sv, "udp;ofi_rxd"sv};
constexpr std::size_t probe_bytes = 64;

// Sends a message from `from` to `to` and waits for it; false if it does not come in time.
bool pass(fabric_channel& from, fabric_channel& to, clock::time_point until) {
  bool sent = false;
  while (clock::now() < until) {
    if (!sent && from.try_get_buffer() != nullptr) sent = from.send(0, probe_bytes);
    from.poll_completions();
    to.poll_completions();
    if (to.arrived().empty()) continue;
    for (const fabric_channel::received& each : to.arrived()) to.give_back(each.buffer);
    to.arrived().clear();
    to.post_receives();
    return true;
  }
  return false;
}

// How long a message takes one way, the median of a few; nothing if none comes within some seconds.
std::optional<clock::duration> measure(const fi_info& info) {
  const auto fabric = open_fabric(info);
  const endpoint_buffers buffers{4, 4, probe_bytes};
  fabric_channel channel{info, *fabric, buffers}, other{info, *fabric, buffers};
  channel.know(std::array{other.address()});
  other.know(std::array{channel.address()});
  std::array<clock::duration, 51> times{};
  auto until = clock::now() + std::chrono::seconds{3};
  if (!pass(channel, other, until) || !pass(other, channel, until)) return std::nullopt;  // sets up the connection
  for (clock::duration& each : times) {
    const auto start = clock::now();
    if (!pass(channel, other, until) || !pass(other, channel, until)) return std::nullopt;
    each = (clock::now() - start) / 2;
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

}  // namespace

owned_info provider_named(std::string_view name) {
  const owned_info list = find_providers();
  owned_info out = pick(list.get(), name);
  if (out) return out;
  const auto names = provider_names(list.get());
  throw error{errc::transport_failed,
              fmt::format("libfabric has no provider '{}' that carries reliable datagrams here; found: {}", name,
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")))};
}

owned_info fastest_provider() {
  const owned_info list = find_providers();
  owned_info best;
  clock::duration best_time{};
  std::string tried;
  for (const std::string_view name : candidates) {
    owned_info each = pick(list.get(), name);
    if (!each || (best && name.ends_with("ofi_rxd"))) continue;  // ofi_rxd only if nothing else works
    std::string outcome = "no message came through";
    try {
      if (const auto time = measure(*each)) {
        outcome = fmt::format("{:.1f} us one way", std::chrono::duration<double, std::micro>{*time}.count());
        if (!best || *time < best_time) {
          best = std::move(each);
          best_time = *time;
        }
      }
    } catch (const error& problem) {
      outcome = problem.what();
    }
    base::log_info("libfabric: provider {}: {}", name, outcome);
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name, outcome);
  }
  if (best) return best;
  const auto names = provider_names(list.get());
  throw error{
      errc::transport_failed,
      fmt::format("libfabric: no provider here passes a message ({}); found: {}. If all ranks are on one machine, "
                  "they need no network where they share a network namespace (containers: --network=host), and "
                  "WEFT_TRANSPORT=shm; if not, is the network up? WEFT_OFI_PROVIDER names a provider",
                  tried.empty() ? "none to try" : tried, fmt::join(names, ", "))};
}

}  // namespace weft::net::ofi
