// SPDX-License-Identifier: BSD-3-Clause
// Whether all ranks of a program were started with the arguments that have to be alike.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <weft/collectives.hpp>
#include <weft/runtime.hpp>

namespace weft {

/// Collective. The lowest rank with other arguments than rank 0, at each rank.
template <std::size_t Count>
[[nodiscard]] std::optional<std::uint32_t> find_other_arguments(runtime& rt,
                                                                const std::array<std::int64_t, Count>& mine) {
  std::vector<std::int64_t> all(rt.size() * Count);
  group world = rt.world();
  collective::allgather(mine, all).run(world);
  for (std::size_t i = Count; i < all.size(); ++i) {
    if (all[i] != all[i % Count]) return static_cast<std::uint32_t>(i / Count);
  }
  return std::nullopt;
}

}  // namespace weft
