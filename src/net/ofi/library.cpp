// SPDX-License-Identifier: BSD-3-Clause
#include "net/ofi/library.hpp"

#include <dlfcn.h>
#include <stdlib.h>

namespace weft::net::ofi {
namespace {

template <class Function>
bool find(void* handle, const char* name, Function& out) noexcept {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  return out != nullptr;
}

const library* load() noexcept {
  // A library that Debian's libfabric loads would install handlers for crash signals.
  setenv("IPATH_NO_BACKTRACE", "1", 0);
  // Providers with staging buffers report a message as sent that the socket had no room for, and drop it when closed.
  setenv("FI_NET_STAGING_SBUF_SIZE", "0", 0);
  setenv("FI_TCP_STAGING_SBUF_SIZE", "0", 0);
  void* const file = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
  if (file == nullptr) return nullptr;
  static library out;
  const bool complete = find(file, "fi_getinfo", out.getinfo) && find(file, "fi_freeinfo", out.freeinfo) &&
                        find(file, "fi_dupinfo", out.dupinfo) && find(file, "fi_fabric", out.fabric) &&
                        find(file, "fi_strerror", out.strerror);
  return complete ? &out : nullptr;
}

}  // namespace

const library* find_library() noexcept {
  static const library* const found = load();
  return found;
}

}  // namespace weft::net::ofi
