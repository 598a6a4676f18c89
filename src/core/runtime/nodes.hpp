// Which ranks can share memory: a partition of the ranks on which all ranks agree.
//
// Each rank knows the ranks with which it shares memory itself, and publishes the lowest of them, which names its node.
// Cost: none where one transport lets every rank share memory with every other; elsewhere a value of 4 bytes of each
// rank, read by each rank when the runtime is made.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "boot/bootstrap.hpp"
#include "net/transport.hpp"

namespace weft::core {

class nodes {
 public:
  /// Publishes this rank's node under a key of `name`. Called once, before the fence of `job::join`. **Errors**:
  /// boot_failed.
  void publish(boot::bootstrap& boot, const std::string& name,
               const std::vector<std::unique_ptr<net::transport>>& transports);
  /// The same where `lowest` is the lowest rank with which this one, or it itself, shares memory.
  void publish(boot::bootstrap& boot, const std::string& name, std::uint32_t lowest);
  /// Reads the nodes of all ranks, after that fence. **Errors**: boot_failed.
  void learn(boot::bootstrap& boot);

  /// The number of the node of `rank`; nodes are numbered in the order of their lowest ranks.
  [[nodiscard]] std::uint32_t of(std::uint32_t rank) const noexcept { return of_[rank]; }

 private:
  std::string key_;                // empty: nothing had to be published
  std::vector<std::uint32_t> of_;  // by rank
};

}  // namespace weft::core
