// SPDX-License-Identifier: BSD-3-Clause
// The choice of a provider: the one that the user names, or the fastest that works here.
#pragma once

#include <string_view>

#include "net/ofi/fabric.hpp"

namespace weft::net::ofi {

/// The provider of this name, as it is to be used here. **Errors**: transport_failed, listing what there is.
[[nodiscard]] owned_info provider_named(std::string_view name);

/// The fastest of the providers that reach other machines, with a message between two endpoints of this process.
/// **Blocking**: a second for each provider that does not work. **Errors**: transport_failed, saying what was tried.
[[nodiscard]] owned_info fastest_provider();

}  // namespace weft::net::ofi
