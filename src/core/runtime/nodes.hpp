// SPDX-License-Identifier: BSD-3-Clause
// Which ranks can share memory: a partition of the ranks on which all ranks agree.
//
// Each rank knows the ranks with which it shares memory itself; the lowest rank of a node publishes all of them. Cost:
// none where one transport lets every rank share memory with every other; elsewhere each rank reads one value for each
// node when the runtime is made, or one for each thousand ranks of larger nodes.
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
  /// Publishes the ranks of this rank's node under keys of `name`, if it is the lowest. Called once, before the fence
  /// of `job::join`. **Errors**: boot_failed.
  void publish(boot::bootstrap& boot, const std::string& name,
               const std::vector<std::unique_ptr<net::transport>>& transports);
  /// Publishes them where `members`, in ascending order, share memory: this rank and others.
  void publish(boot::bootstrap& boot, const std::string& name, const std::vector<std::uint32_t>& members);
  /// Reads the nodes of all ranks, after that fence. **Errors**: boot_failed.
  void learn(boot::bootstrap& boot);

  /// The number of the node of `rank`; nodes are numbered in the order of their lowest ranks.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t rank) const noexcept { return node_of_rank_[rank]; }

 private:
  [[nodiscard]] std::vector<std::uint32_t> members_of(boot::bootstrap& boot, std::uint32_t lowest) const;

  std::string key_;  // empty: nothing had to be published
  std::vector<std::uint32_t> node_of_rank_;
};

}  // namespace weft::core
