// SPDX-License-Identifier: BSD-3-Clause
#include "net/transports.hpp"

#include <algorithm>
#include <array>

#include "base/config.hpp"
#include "net/transport_list.hpp"

namespace weft::net {
namespace {

template <class Do, class... Transports>
void for_each_transport(Do each, std::tuple<Transports...>*) {
  (each(static_cast<Transports*>(nullptr)), ...);
}

template <class... Transports>
constexpr auto names_of(std::tuple<Transports...>*) {
  return std::array{Transports::listed_name...};
}

// Null if the transport is for jobs of more ranks.
std::unique_ptr<transport> make_one(const listed_transport& wanted, const transport_context& context) {
  std::unique_ptr<transport> out;
  for_each_transport(
      [&]<class Transport>(Transport*) {
        if (Transport::listed_name == wanted.name && context.boot.size() >= Transport::ranks_min) {
          out = std::make_unique<Transport>(context);
        }
      },
      static_cast<transport_table*>(nullptr));
  return out;
}

}  // namespace

std::span<const std::string_view> transport_names() noexcept {
  static constexpr auto names = names_of(static_cast<transport_table*>(nullptr));
  return names;
}

std::vector<listed_transport> listed_transports(const base::settings& settings) {
  const bool standard = settings.transport == base::settings{}.transport;
  return parse_transport_list(settings.transport, transport_names(), standard,
                              base::origin_of(settings, "WEFT_TRANSPORT"));
}

void check_settings(const base::settings& settings) {
  const std::vector<listed_transport> listed = listed_transports(settings);
  if (std::ranges::any_of(listed, &listed_transport::simulated)) static_cast<void>(sim::failure_of(settings));
}

std::vector<available_transport> available_transports() {
  std::vector<available_transport> out;
  for_each_transport(
      [&]<class Transport>(Transport*) {
        out.push_back({Transport::listed_name, {}});
        if constexpr (requires { Transport::found_here(); }) out.back().found = Transport::found_here();
      },
      static_cast<transport_table*>(nullptr));
  return out;
}

std::vector<std::unique_ptr<transport>> make_transports(const transport_context& context) {
  std::vector<std::unique_ptr<transport>> out;
  // Done before anything is shared: a peer may be using the memory of a rank that ends because of its settings.
  check_settings(context.settings);
  for (const listed_transport& wanted : listed_transports(context.settings)) {
    // Making a transport is collective: `reaches_all` has the same answer at all ranks.
    if (std::any_of(out.begin(), out.end(), [](const auto& made) { return made->reaches_all(); })) break;
    auto made = make_one(wanted, context);
    if (made && wanted.simulated) made = std::make_unique<sim::sim_transport>(context, std::move(made));
    if (made) out.push_back(std::move(made));
  }
  return out;
}

}  // namespace weft::net
