// SPDX-License-Identifier: BSD-3-Clause
#include "core/wait/neighbours.hpp"

#include <algorithm>

#include "base/log.hpp"

namespace weft::core {

void neighbours::find(std::span<const std::unique_ptr<net::transport>> transports, std::uint32_t self,
                      std::uint32_t ranks) {
  self_ = self;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    for (const auto& each : transports) {
      const net::memory_sharing* const sharing = each->sharing();
      if (sharing == nullptr) continue;
      const base::processor_set found = sharing->processors_of(rank);
      if (found == base::processor_set{}) continue;
      all_.emplace_back(rank, found);
      break;
    }
  }
}

void neighbours::divide_cores() {
  const base::processor_set mine = processors_of(self_);
  const auto is_like_me = [&](const auto& each) { return each.second == mine; };
  const auto parts = static_cast<std::size_t>(std::ranges::count_if(all_, is_like_me));
  if (parts < 2)
    return base::log_info("WEFT_BIND: rank {} has processors {} to itself, or is bound already", self_, mine.to_text());
  const std::vector<base::processor_set> cores = base::cores_within(mine);
  if (cores.size() < parts) {
    return base::log_info("WEFT_BIND: ranks are not bound: {} of them share {} cores", parts, cores.size());
  }
  std::size_t index = 0;
  for (auto& each : all_) {
    if (is_like_me(each)) each.second = base::part_of(cores, index++, parts);
  }
  const base::processor_set part = processors_of(self_);
  if (base::keep_this_thread_on(part)) {
    base::log_info("WEFT_BIND: rank {} keeps to processors {}", self_, part.to_text());
  } else {
    base::log_warn("WEFT_BIND: the system doesn't let rank {} keep to processors {}", self_, part.to_text());
  }
}

base::processor_set neighbours::processors_of(std::uint32_t rank) const {
  const auto found = std::ranges::find(all_, rank, [](const auto& each) { return each.first; });
  return found != all_.end() ? found->second : base::processor_set{};
}

bool neighbours::has_company() const {
  const base::processor_set mine = processors_of(self_);
  return std::ranges::any_of(all_, [&](const auto& each) { return each.first != self_ && each.second.meets(mine); });
}

}  // namespace weft::core
