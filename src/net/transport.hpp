// SPDX-License-Identifier: BSD-3-Clause
// The contract between the core and the transports: this header and the headers of this folder that it includes.
// README.md states it in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/processors.hpp"
#include "boot/bootstrap.hpp"
#include "net/endpoint.hpp"
#include "net/message.hpp"
#include "net/packet_store.hpp"
#include "net/ring/sleep_word.hpp"
#include "net/sink.hpp"
#include "net/transport_counts.hpp"

namespace weft::base {
struct settings;
}

namespace weft::net {

/// Whether direct copies from and to a peer's memory are worth trying, and how they are done or why not, in words.
struct direct_copies {
  bool possible = false;
  std::string_view description;
};

/// A rank that has ended.
struct ended_peer {
  std::uint32_t rank = 0;
  bool in_order = false;  // it has destroyed its runtime; if not, its process ended in the middle
};

/// The part of a transport whose ranks map memory of each other.
class memory_sharing {
 public:
  /// Memory for `packet_count` packets that peers can read.
  [[nodiscard]] virtual std::byte* packet_memory() noexcept = 0;
  /// Puts packets that peers have returned back into the pool; returns how many. **Threads**: any.
  virtual unsigned reclaim_packets() noexcept = 0;
  /// The address at which this rank has mapped the memory that `rank`, which may be itself, shares with its peers: at
  /// first `shared_bytes` zeroes. Null where it can't be mapped.
  [[nodiscard]] virtual std::byte* shared_memory(std::uint32_t rank) noexcept = 0;
  [[nodiscard]] virtual std::size_t shared_bytes() const noexcept = 0;
  /// This rank's sleep words, in memory that its peers map.
  [[nodiscard]] virtual sleep_words& shared_sleep_words() noexcept = 0;
  /// The processors that `rank`, which may be this one, may run on by its own account; none if on another machine.
  [[nodiscard]] virtual const base::processor_set& processors_of(std::uint32_t rank) const noexcept = 0;

 protected:
  ~memory_sharing() = default;
};

/// One runtime's part of a transport: knows the peers it reaches, takes packets back, and makes endpoints by
///   template <class Sink> std::unique_ptr<endpoint<Sink>> open(std::uint32_t slot, bool shared, std::uint32_t cells =
///   0);
/// `cells`: of the rings that the first endpoint of a slot sends into, and all after it, where there are rings: a power
/// of two, at most the setting `ring_cells`, which it is if 0.
/// For the table it also has
///   static constexpr std::string_view listed_name = ...;  // what WEFT_TRANSPORT calls it
///   static constexpr std::uint32_t ranks_min = ...;       // a job of fewer ranks has no use for it
/// and, if it can tell something about this machine (`weft-info` prints it),
///   static std::vector<std::string> found_here();         // devices, providers: a line for each
class transport {
 public:
  virtual ~transport() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  [[nodiscard]] virtual bool reaches(std::uint32_t peer) const noexcept = 0;

  /// Whether every rank reaches every other by this transport. All ranks answer the same: transports after it in the
  /// list, whose making is collective, are then not made at all.
  [[nodiscard]] virtual bool reaches_all() const noexcept = 0;

  /// Null where ranks don't map each other's memory.
  [[nodiscard]] virtual memory_sharing* sharing() noexcept = 0;

  /// Sets the pool whose packets it sends and copies into; called once, before any endpoint is made.
  virtual void use_packets(packet_store& packets) noexcept = 0;

  /// Whether and how `read_remote` and `write_remote` work with that peer.
  [[nodiscard]] virtual direct_copies copies(std::uint32_t peer) const noexcept = 0;

  /// Sets the sleep words to read after a message of this rank to itself; called once, before any endpoint is made.
  virtual void use_sleep_words(sleep_words& words) noexcept = 0;
  /// Whether every arriving message wakes the threads that sleep at its device's word. If not, they poll now and then.
  [[nodiscard]] virtual bool wakes_sleepers() const noexcept = 0;

  /// Devices that a rank may have at a time with this transport.
  [[nodiscard]] virtual std::uint32_t devices_max() const noexcept = 0;

  /// Writes ranks to `out` that have ended and were not found before; returns how many. From then on each post to them
  /// is answered `full`, and none of them accesses memory of this rank. What they have sent can still be polled. May
  /// call the system. **Threads**: one at a time.
  [[nodiscard]] virtual std::size_t find_ended(std::span<ended_peer> out) noexcept = 0;

  [[nodiscard]] virtual transport_counts counted() const noexcept = 0;

  /// The device of `slot` is there, with all its endpoints: peers may choose it. After `close` they choose another one.
  /// `only_named`: it gets no message that names no device, but for this rank's own.
  virtual void go_live(std::uint32_t slot, bool only_named) noexcept = 0;
  virtual void close(std::uint32_t slot) noexcept = 0;
};

/// `devices_max` of a transport without a bound of its own.
inline constexpr std::uint32_t devices_unbounded = ~std::uint32_t{0};

/// What a transport is made from. `name` tells the runtimes of one process apart in the bootstrap.
struct transport_context {
  boot::bootstrap& boot;
  const base::settings& settings;
  std::string name;
};

}  // namespace weft::net
