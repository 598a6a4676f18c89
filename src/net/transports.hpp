// The one table of transports: a new one is a folder and a line here.
#pragma once

#include <cstdint>
#include <memory>
#include <tuple>
#include <vector>

#include "net/self/self_endpoint.hpp"
#include "net/shm/shm_endpoint.hpp"
#include "net/transport.hpp"

namespace weft::net {

/// In the order of preference for a peer that several of them reach.
using transport_table = std::tuple<self_transport, shm::shm_transport>;

/// The transports that a job of this size has a use for. Collective. **Errors**: those of the transports.
[[nodiscard]] std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context);

/// An endpoint of `of`, for device `slot`, whose arrivals go to a `Sink`.
template <class Sink>
[[nodiscard]] std::unique_ptr<endpoint<Sink>> open_endpoint(transport& of, std::uint32_t slot, bool shared) {
  std::unique_ptr<endpoint<Sink>> out;
  const auto open_if = [&]<class Transport>(Transport* mine) {
    if (mine != nullptr) out = mine->template open<Sink>(slot, shared);
  };
  [&]<class... Transports>(std::tuple<Transports...>*) {
    (open_if(dynamic_cast<Transports*>(&of)), ...);
  }(static_cast<transport_table*>(nullptr));
  return out;
}

}  // namespace weft::net
