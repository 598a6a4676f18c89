// SPDX-License-Identifier: BSD-3-Clause
// libfabric's objects with owners, and what the providers of this machine offer for reliable datagrams.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/ofi/library.hpp"

#undef count_of  // a macro of libfabric's, and a name of ours

namespace weft::net::ofi {

template <class Object>
struct closer {
  void operator()(Object* object) const noexcept { fi_close(&object->fid); }
};
template <class Object>
using owned = std::unique_ptr<Object, closer<Object>>;

struct info_freer {
  void operator()(fi_info* list) const noexcept { loaded().freeinfo(list); }
};
using owned_info = std::unique_ptr<fi_info, info_freer>;

/// Throws `transport_failed` unless `status` is 0; the text says which call failed, of which provider, and why.
void check(int status, std::string_view call, const fi_info& info);

/// The list of providers that can carry our messages; null if there is none.
[[nodiscard]] owned_info find_providers();

/// The names in such a list, each once, in its order.
[[nodiscard]] std::vector<std::string> provider_names(const fi_info* list);

/// A copy of the best entry of `list` for provider `name`: preferably with an IPv4 address that other machines may
/// reach. Null if there is no entry.
[[nodiscard]] owned_info pick(const fi_info* list, std::string_view name);

/// Does this address, of an endpoint of a provider like `info`, mean "this machine" on whichever machine it is read?
[[nodiscard]] bool is_loopback(const fi_info& info, std::string_view address) noexcept;

[[nodiscard]] owned<fid_fabric> open_fabric(const fi_info& info);

/// The name of a provider, as in WEFT_OFI_PROVIDER.
[[nodiscard]] std::string_view name_of(const fi_info& info) noexcept;

}  // namespace weft::net::ofi
