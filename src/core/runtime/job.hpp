// The job that a runtime belongs to: its rank, the settings, some of which all ranks have alike, and a number that all
// ranks agree on, which remote handles carry.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/config.hpp"
#include "boot/bootstrap.hpp"
#include "core/runtime/nodes.hpp"
#include "net/transport.hpp"

namespace weft::core {

class job {
 public:
  job(std::shared_ptr<boot::bootstrap> bootstrap, base::settings settings)
      : bootstrap_{std::move(bootstrap)},
        settings_{std::move(settings)},
        rank_{bootstrap_->rank()},
        size_{bootstrap_->size()} {}

  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  /// Tells this job from all others, once `join` has returned.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] boot::bootstrap& bootstrap() noexcept { return *bootstrap_; }
  [[nodiscard]] const base::settings& settings() const noexcept { return settings_; }

  /// Which ranks share memory, once `join` has returned.
  [[nodiscard]] const core::nodes& nodes() const noexcept { return nodes_; }

  /// Rank 0 publishes a number under a key of `name`, and settings that all ranks must have; each rank publishes its
  /// node. **Errors**: boot_failed.
  void propose(const std::string& name, const std::vector<std::unique_ptr<net::transport>>& transports);
  /// Waits for all ranks, and takes the number of rank 0. Called once, after `propose`. **Errors**: boot_failed,
  /// configuration.
  void join();

 private:
  std::shared_ptr<boot::bootstrap> bootstrap_;
  base::settings settings_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint64_t number_ = 0;
  std::string key_;
  core::nodes nodes_;
};

}  // namespace weft::core
