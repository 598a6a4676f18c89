// SPDX-License-Identifier: BSD-3-Clause
// What a scheduler of fibers knows for the report of a process in which nothing moves (base/standstill.hpp).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/standstill.hpp"
#include "fiber/watch.hpp"
#include "fiber/worker.hpp"

namespace weft::fibers {

class fiber_witness final : public base::witness {
 public:
  /// The workers outlive it.
  fiber_witness(std::span<const std::unique_ptr<worker>> workers, bool makes_progress)
      : workers_{workers}, makes_progress_{makes_progress}, last_(workers.size()), do_wait_(workers.size(), true) {}

  [[nodiscard]] sight look() noexcept override;
  void describe(base::report& into) override;

 private:
  std::span<const std::unique_ptr<worker>> workers_;
  bool makes_progress_;
  std::vector<fibers::look> last_;
  std::vector<bool> do_wait_;  // index: worker; at the last look
  base::witness_entry entry_{*this};
};

}  // namespace weft::fibers
