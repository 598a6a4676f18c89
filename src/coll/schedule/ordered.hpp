// SPDX-License-Identifier: BSD-3-Clause
// Adds steps to a schedule as if they ran one after the other: a step begins after the earlier steps that write the
// bytes it reads, or that read or write the bytes it writes. Steps on other bytes are independent.
#pragma once

#include <cstdint>
#include <vector>

#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// Meant for algorithms with few steps: each is compared with the earlier ones whose bytes are not written over.
class ordered {
 public:
  explicit ordered(schedule& out) noexcept : out_{out} {}

  /// **Errors**: std::bad_alloc.
  void send(std::uint32_t peer, std::uint32_t label, part from);
  void receive(std::uint32_t peer, std::uint32_t label, part into);
  void reduce(part from, part into);
  void reduce_into_lower(part from, part into);
  void copy(part from, part into);

  [[nodiscard]] schedule& steps() noexcept { return out_; }

 private:
  struct access {
    part bytes;
    std::uint32_t step;
    bool writes;
  };
  static constexpr part nothing{};

  // Edges to `after`, which has been added, from the steps that it must not run before.
  void add_edges(step_ref after, part read, part written);

  schedule& out_;
  std::vector<access> accesses_;
};

}  // namespace weft::coll
