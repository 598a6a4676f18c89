// SPDX-License-Identifier: BSD-3-Clause
// What transports may ask of the packet pool.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/raw_record.hpp"

namespace weft::net {

/// Fixed-size buffers by index.
class packet_store {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// A packet, or `none` if no packet is free.
  [[nodiscard]] virtual std::uint32_t try_get() noexcept = 0;
  virtual void put(std::uint32_t index) noexcept = 0;
  [[nodiscard]] virtual std::byte* data(std::uint32_t index) const noexcept = 0;
  /// The owner that takes a packet of this pool back by its address.
  [[nodiscard]] virtual detail::payload_owner& owner() noexcept = 0;
  /// Adds `change` to the number of packets that are lent to a sink. A transport adds 1 before the sink sees the
  /// packet, and subtracts it if the sink refuses. `owner()` counts the packets that the sink gives back.
  virtual void count_lent(std::int32_t change) noexcept = 0;

 protected:
  ~packet_store() = default;
};

}  // namespace weft::net
