// SPDX-License-Identifier: BSD-3-Clause
#include "net/ofi/fabric.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "weft/error.hpp"

namespace weft::net::ofi {
namespace {

// The API version that we ask for; 2.x has it as well.
constexpr std::uint32_t api_version = FI_VERSION(1, 11);

bool is_loopback(const sockaddr_in& address) noexcept { return (ntohl(address.sin_addr.s_addr) >> 24) == 127; }

// How well other machines can reach the address of an entry; the highest rating is taken.
int rating(const fi_info& info) noexcept {
  if (info.src_addr == nullptr) return 1;
  if (info.addr_format == FI_SOCKADDR_IN) {
    sockaddr_in address;
    std::memcpy(&address, info.src_addr, sizeof address);
    return is_loopback(address) ? 2 : 5;
  }
  if (info.addr_format == FI_SOCKADDR_IN6) {
    sockaddr_in6 address;
    std::memcpy(&address, info.src_addr, sizeof address);
    if (IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr)) return 0;  // says nothing without an interface
    return IN6_IS_ADDR_LOOPBACK(&address.sin6_addr) ? 1 : 4;
  }
  return 3;
}

}  // namespace

void check(int status, std::string_view call, const fi_info& info) {
  if (status == 0) return;
  throw error{errc::transport_failed,
              fmt::format("libfabric: {} of provider '{}' failed: {}; WEFT_OFI_PROVIDER chooses another provider, "
                          "FI_LOG_LEVEL=warn tells more",
                          call, name_of(info), loaded().strerror(-status))};
}

std::string_view name_of(const fi_info& info) noexcept { return info.fabric_attr->prov_name; }

owned_info find_providers() {
  const library* const here = find_library();
  if (here == nullptr) return nullptr;
  const owned_info hints{here->dupinfo(nullptr)};
  if (!hints) return nullptr;
  hints->caps = FI_MSG;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;  // each fabric_channel has a domain, and a lock around it
  hints->domain_attr->control_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  fi_info* found = nullptr;
  return here->getinfo(api_version, nullptr, nullptr, 0, hints.get(), &found) == 0 ? owned_info{found} : nullptr;
}

std::vector<std::string> provider_names(const fi_info* list) {
  std::vector<std::string> out;
  for (; list != nullptr; list = list->next) {
    if (std::find(out.begin(), out.end(), name_of(*list)) == out.end()) out.emplace_back(name_of(*list));
  }
  return out;
}

owned_info pick(const fi_info* list, std::string_view name) {
  const fi_info* best = nullptr;
  for (; list != nullptr; list = list->next) {
    if (name_of(*list) == name && (best == nullptr || rating(*list) > rating(*best))) best = list;
  }
  return owned_info{best == nullptr ? nullptr : loaded().dupinfo(best)};
}

bool is_loopback(const fi_info& info, std::string_view address) noexcept {
  if (info.addr_format == FI_SOCKADDR_IN && address.size() >= sizeof(sockaddr_in)) {
    sockaddr_in form;
    std::memcpy(&form, address.data(), sizeof form);
    return is_loopback(form);
  }
  if (info.addr_format == FI_SOCKADDR_IN6 && address.size() >= sizeof(sockaddr_in6)) {
    sockaddr_in6 form;
    std::memcpy(&form, address.data(), sizeof form);
    return IN6_IS_ADDR_LOOPBACK(&form.sin6_addr);
  }
  return false;
}

owned<fid_fabric> open_fabric(const fi_info& info) {
  fid_fabric* out = nullptr;
  check(loaded().fabric(info.fabric_attr, &out, nullptr), "opening the fabric", info);
  return owned<fid_fabric>{out};
}

}  // namespace weft::net::ofi
