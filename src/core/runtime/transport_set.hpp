// SPDX-License-Identifier: BSD-3-Clause
// The transports of a runtime, in the order of WEFT_TRANSPORT, and the ranks of this machine that they reach.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/wait/neighbours.hpp"
#include "core/wait/parking.hpp"
#include "net/transport.hpp"
#include "weft/runtime.hpp"

namespace weft::core {

/// **Threads**: one, before any device is made; then any.
class transport_set {
 public:
  using list = std::vector<std::unique_ptr<net::transport>>;

  void make(const net::transport_context& context);
  /// Finds the ranks of this machine. `divides`: and divides the cores among them.
  void find_neighbours(std::uint32_t rank, std::uint32_t size, bool divides);
  /// Gives the sleep words of the transport that shares memory to all transports, and to `lot`.
  void use_sleep_words_in(parking& lot) noexcept;

  [[nodiscard]] const list& all() const noexcept { return all_; }
  [[nodiscard]] list::const_iterator begin() const noexcept { return all_.begin(); }
  [[nodiscard]] list::const_iterator end() const noexcept { return all_.end(); }
  [[nodiscard]] const core::neighbours& neighbours() const noexcept { return neighbours_; }
  /// The memory that a transport shares with peers; null if there is none.
  [[nodiscard]] net::memory_sharing* sharing() const noexcept;
  /// How many devices all of them have room for, at most `wanted`.
  [[nodiscard]] std::uint32_t devices_max(std::uint32_t wanted) const noexcept;

  void add_to(runtime_counters& out) const noexcept;
  /// Payloads of arrived messages that the transports have lent and not got back.
  [[nodiscard]] std::int64_t payloads_out() const noexcept;

 private:
  list all_;
  net::sleep_words own_sleepers_;  // used if no transport has sleep words
  core::neighbours neighbours_;
};

}  // namespace weft::core
