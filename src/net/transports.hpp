// SPDX-License-Identifier: BSD-3-Clause
// The one table of transports: a new one is a folder and a line here. `sim` is not in it: it wraps the others.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#ifdef WEFT_HAS_OFI
#include "net/ofi/ofi_endpoint.hpp"
#endif
#include "net/self/self_endpoint.hpp"
#include "net/shm/shm_endpoint.hpp"
#include "net/sim/sim_endpoint.hpp"
#include "net/transport.hpp"

namespace weft::net {

/// All transports of this build; the first one is for messages of a rank to itself. WEFT_TRANSPORT says which are used,
/// in which order.
using transport_table = std::tuple<self_transport, shm::shm_transport
#ifdef WEFT_HAS_OFI
                                   ,
                                   ofi::ofi_transport
#endif
                                   >;

/// What WEFT_TRANSPORT may name.
[[nodiscard]] std::span<const std::string_view> transport_names() noexcept;

/// The transports that WEFT_TRANSPORT lists, without those for jobs of more ranks; the list ends after a transport by
/// which every rank reaches every other. Collective. **Errors**: `configuration` for a list that can't be read, and
/// the transports' own.
[[nodiscard]] std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context);

/// An endpoint of `transport`, a transport of the table, for device `slot`. Its arrivals go to a `Sink`.
template <class Sink>
[[nodiscard]] std::unique_ptr<endpoint<Sink>> open_listed(transport& transport, std::uint32_t slot, bool shared,
                                                          std::uint32_t cells) {
  std::unique_ptr<endpoint<Sink>> out;
  const auto open_if = [&]<class Transport>(Transport* mine) {
    if (mine != nullptr) out = mine->template open<Sink>(slot, shared, cells);
  };
  [&]<class... Transports>(std::tuple<Transports...>*) {
    (open_if(dynamic_cast<Transports*>(&transport)), ...);
  }(static_cast<transport_table*>(nullptr));
  return out;
}

/// Opens it as well if `transport` is the simulation of a transport of the table.
template <class Sink>
[[nodiscard]] std::unique_ptr<endpoint<Sink>> open_endpoint(transport& transport, std::uint32_t slot, bool shared,
                                                            std::uint32_t cells = 0) {
  auto* const simulated = dynamic_cast<sim::sim_transport*>(&transport);
  if (simulated == nullptr) return open_listed<Sink>(transport, slot, shared, cells);
  return std::make_unique<sim::sim_endpoint<Sink>>(*simulated, slot,
                                                   open_listed<sim::inbox>(simulated->wrapped(), slot, shared, cells));
}

}  // namespace weft::net
