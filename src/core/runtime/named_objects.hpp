// SPDX-License-Identifier: BSD-3-Clause
// For the registries of registrations and of matching engines: objects by id. An id is never used twice.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/id_table.hpp"

namespace weft::core {

/// Makes an object with id `id`; null if another object has or had that id.
template <class Object, class... Arguments>
Object* add_named(std::map<std::uint32_t, Object>& objects, base::id_table<>& names, std::uint32_t id,
                  Arguments&&... arguments) {
  const auto [made, is_new] = objects.try_emplace(id, std::forward<Arguments>(arguments)...);
  if (!is_new) return nullptr;
  try {
    if (names.insert(id, &made->second)) return &made->second;
  } catch (...) {
    objects.erase(made);
    throw;
  }
  objects.erase(made);
  return nullptr;
}

/// Why `add_named` made none, for an error.
[[nodiscard]] inline const char* taken_because(const base::id_table<>& names, std::uint32_t id) noexcept {
  return names.state(id) == base::presence::present ? "is in use" : "was withdrawn";
}

}  // namespace weft::core
