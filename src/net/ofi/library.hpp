// libfabric itself, loaded when it is first asked for: a program that stays on one machine carries nothing of it, nor
// of the libraries for adapters that it brings, some of which take over the signals of crashes.
#pragma once

#include <rdma/fabric.h>

namespace weft::net::ofi {

/// The functions that are called by name; all others go through tables in the objects that these make.
struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// Null where libfabric is not installed. **Threads**: any.
[[nodiscard]] const library* find_library() noexcept;

/// The same where something of it is in hand already, so that it is there.
[[nodiscard]] inline const library& loaded() noexcept { return *find_library(); }

}  // namespace weft::net::ofi
