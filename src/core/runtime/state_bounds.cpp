// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/state_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/memory_limit.hpp"
#include "core/device/own_receives.hpp"
#include "core/matching/unexpected_sends.hpp"
#include "core/operation/operations.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// The receives that may be posted, plus the receives that devices of one thread's own keep.
std::optional<std::uint32_t> receives_in_all(const base::settings& settings, bool is_default_shared) noexcept {
  if (!settings.receives_max) return {};
  const std::uint32_t keepers = settings.devices_max - (is_default_shared ? 1 : 0);
  return *settings.receives_max + keepers * spare_receives_of(settings.receives_max);
}

state_bounds within(const base::settings& settings, bool is_default_shared, std::uint64_t bytes_max) noexcept {
  return {bytes_max, bounds_of(settings.operations_max, sizeof(operation_state), bytes_max),
          bounds_of(receives_in_all(settings, is_default_shared), sizeof(operation_state), bytes_max),
          bounds_of(settings.unexpected_sends_max, sizeof(unexpected_message), bytes_max)};
}

std::uint64_t bytes_at_first(const state_bounds& bounds) noexcept {
  return operations::bytes_at_first(bounds.posts, bounds.receives) +
         slab_pool<unexpected_message>::bytes_at_first(bounds.unexpected);
}

}  // namespace

state_bounds state_bounds_of(const base::settings& settings, bool is_default_shared) {
  const auto bounded_by = [&](std::uint64_t bytes_max) { return within(settings, is_default_shared, bytes_max); };
  const std::uint64_t needed = bytes_at_first(bounded_by(0));
  if (!settings.state_bytes_max) return bounded_by(std::max(base::memory_limit() / 4, needed));
  if (*settings.state_bytes_max >= needed) return bounded_by(*settings.state_bytes_max);
  const bool is_set = settings.operations_max || settings.receives_max || settings.unexpected_sends_max;
  throw error{errc::configuration,
              fmt::format("{}={} is less than the {} bytes that a rank needs for its first operations, receives and "
                          "waiting messages: raise it{}",
                          base::origin_of(settings, "WEFT_STATE_BYTES_MAX"), *settings.state_bytes_max, needed,
                          is_set ? ", or lower WEFT_OPERATIONS_MAX, WEFT_RECEIVES_MAX and WEFT_UNEXPECTED_SENDS_MAX, "
                                   "whose operations are there from the beginning where they are set"
                                 : "")};
}

}  // namespace weft::core
