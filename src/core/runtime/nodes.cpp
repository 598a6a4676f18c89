#include "core/runtime/nodes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/assertion.hpp"
#include "weft/error.hpp"

namespace weft::core {

void nodes::publish(boot::bootstrap& boot, const std::string& name,
                    const std::vector<std::unique_ptr<net::transport>>& transports) {
  const std::uint32_t self = boot.rank();
  const auto sharing = std::ranges::find_if(transports, [](const auto& each) { return each->sharing() != nullptr; });
  of_.resize(boot.size());
  if (sharing == transports.end()) return std::iota(of_.begin(), of_.end(), 0U);
  if ((*sharing)->reaches_all()) return;  // all ranks know that
  std::uint32_t lowest = 0;
  while (lowest != self && !(*sharing)->reaches(lowest)) ++lowest;
  publish(boot, name, lowest);
}

void nodes::publish(boot::bootstrap& boot, const std::string& name, std::uint32_t lowest) {
  WEFT_ASSERT(key_.empty() && lowest <= boot.rank());
  of_.resize(boot.size());
  key_ = name + ".node";
  boot.put(key_, {reinterpret_cast<const char*>(&lowest), sizeof lowest});
}

void nodes::learn(boot::bootstrap& boot) {
  if (key_.empty()) return;
  std::vector<std::uint32_t> lowest(of_.size());
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < lowest.size(); ++rank) {
    const std::string said = boot.get(rank, key_);
    if (said.size() == sizeof lowest[rank]) std::memcpy(&lowest[rank], said.data(), sizeof lowest[rank]);
    if (said.size() != sizeof lowest[rank] || lowest[rank] > rank) {
      throw error{errc::boot_failed,
                  fmt::format("rank {} published no node: do all ranks use the same version of Weft?", rank)};
    }
    // Sharing memory is transitive; if a lowest rank should name another one, this rank is a node of its own.
    const std::uint32_t first = lowest[rank];
    of_[rank] = first != rank && lowest[first] == first ? of_[first] : count++;
  }
}

}  // namespace weft::core
