// SPDX-License-Identifier: BSD-3-Clause
// The places in the source where atomics are accessed, named by the labels that the comments above them carry.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::model {

enum class access : std::uint8_t { load, store, exchange, modify, compare };

struct site {
  const char* file;
  unsigned line;
  access kind;
  std::memory_order order;
  std::memory_order failure_order;  // of a compare-and-exchange that fails
  std::string label;                // "ring.publish", or "sites.hpp:12" where there is none; a second one has "#2"
};

/// Known since the program started; sites are found as they are reached.
class site_table {
 public:
  static site_table& instance();

  unsigned number_of(const char* file, unsigned line, access kind, std::memory_order order,
                     std::memory_order failure_order);
  [[nodiscard]] const site& at(unsigned number) const { return sites_[number]; }
  [[nodiscard]] std::size_t size() const { return sites_.size(); }

 private:
  struct cell {
    const char* file = nullptr;
    unsigned line = 0;
    access kind{};
    unsigned number = 0;
  };

  std::vector<site> sites_;
  std::vector<cell> cells_ = std::vector<cell>(4096);
};

/// Where orders are the explorer's own data or what a test tries, they are written as `orders::acquire`. Such an order
/// has no label: it has no partner.
using orders = std::memory_order;

[[nodiscard]] constexpr bool acquires(orders order) {
  return order == orders::acquire || order == orders::acq_rel || order == orders::seq_cst;
}
[[nodiscard]] constexpr bool releases(orders order) {
  return order == orders::release || order == orders::acq_rel || order == orders::seq_cst;
}
/// That of a compare-and-exchange that fails, where the caller gives only one.
[[nodiscard]] constexpr orders failure_of(orders order) {
  if (order == orders::acq_rel) return orders::acquire;
  return order == orders::release ? orders::relaxed : order;
}

[[nodiscard]] const char* name_of(access kind);
[[nodiscard]] const char* name_of(orders order);

}  // namespace weft::model
