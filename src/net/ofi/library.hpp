// SPDX-License-Identifier: BSD-3-Clause
// libfabric itself, loaded on first use: a program that stays on one machine loads neither it nor the adapter libraries
// that it depends on, some of which take over the signals of crashes.
#pragma once

#include <rdma/fabric.h>

namespace weft::net::ofi {

/// The functions that are called by name; all others are in tables of the objects that these make.
struct library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
};

/// Null where libfabric is not installed. **Threads**: any.
[[nodiscard]] const library* find_library() noexcept;

/// The library, for callers that have an object of it, so that it is loaded.
[[nodiscard]] inline const library& loaded() noexcept { return *find_library(); }

}  // namespace weft::net::ofi
