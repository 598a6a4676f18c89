// SPDX-License-Identifier: BSD-3-Clause
// The job that a runtime belongs to: its rank, its settings (all ranks have some of them alike), and a number that all
// ranks agree on. Remote handles carry that number.
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
  /// Tells this job from all others, once `agree` has returned.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  [[nodiscard]] boot::bootstrap& bootstrap() noexcept { return *bootstrap_; }
  [[nodiscard]] const base::settings& settings() const noexcept { return settings_; }

  /// Whether more ranks run on some processors than there are, once `agree` has returned; all ranks agree on it.
  [[nodiscard]] bool is_beyond_processors() const noexcept { return is_beyond_processors_; }
  /// Set by tests: what `agree` would find on another machine.
  void assume_beyond_processors(bool are_beyond) noexcept { is_beyond_processors_ = are_beyond; }
  /// Which ranks share memory, once `join` has returned.
  [[nodiscard]] const core::nodes& nodes() const noexcept { return nodes_; }

  /// Compares the settings that all ranks must give alike, and takes the number of rank 0, by keys of `name`.
  /// Collective; called once, before any transport is made. **Errors**: boot_failed; configuration, at every rank,
  /// which names the settings that differ, with ranks and values.
  void agree(const std::string& name);
  /// Publishes this rank's node under a key of `name`. Called once, after `agree`. **Errors**: boot_failed.
  void publish_node(const std::string& name, const std::vector<std::unique_ptr<net::transport>>& transports);
  /// Waits for all ranks, and learns their nodes. Called once, after `publish_node`. **Errors**: boot_failed.
  void join();

 private:
  [[nodiscard]] std::string answer(const std::string& name);

  std::shared_ptr<boot::bootstrap> bootstrap_;
  base::settings settings_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::uint64_t number_ = 0;
  bool is_beyond_processors_ = false;
  core::nodes nodes_;
};

}  // namespace weft::core
