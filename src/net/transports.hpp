// The one table of transports.
#pragma once

#include <memory>
#include <vector>

#include "net/transport.hpp"

namespace weft::net {

/// The transports of a runtime, the preferred one for a peer before others. Collective.
/// **Errors**: those of the transports.
[[nodiscard]] std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context);

}  // namespace weft::net
