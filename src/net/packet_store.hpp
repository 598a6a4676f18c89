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

  /// A packet, or `none` when there is none to be had.
  [[nodiscard]] virtual std::uint32_t try_get() noexcept = 0;
  virtual void put(std::uint32_t index) noexcept = 0;
  [[nodiscard]] virtual std::byte* data(std::uint32_t index) const noexcept = 0;
  /// Who takes a packet of this pool back by its address.
  [[nodiscard]] virtual detail::payload_owner& owner() noexcept = 0;
  /// So many packets more, or less, are lent to a sink, which gives them back to `owner()`: counted before it sees one,
  /// and taken back where it refuses. What comes back is counted by the owner.
  virtual void count_lent(std::int32_t change) noexcept = 0;

 protected:
  ~packet_store() = default;
};

}  // namespace weft::net
