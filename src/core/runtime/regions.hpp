// SPDX-License-Identifier: BSD-3-Clause
// The regions of a runtime: a table that peers on the same machine can read, and the memory that they have mapped.
//
// Cost of finding a peer's region: one line of its table, which changes only when regions are made and withdrawn. An
// entry takes memory once it is used, and the entries of regions that have ended are used first.
// The owner reads a table of its own: a faulty peer may have overwritten the one that peers have mapped.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/config.hpp"
#include "core/message/peer_bounds.hpp"
#include "net/transport.hpp"
#include "weft/detail/zeroed_memory.hpp"
#include "weft/region.hpp"

namespace weft::core {

/// How a region can be reached from here.
struct region_location {
  enum class access : std::uint8_t {
    refused,  // it is withdrawn, or the bytes are beyond its end
    mapped,   // `memory`
    copied,   // `address` in the owner's own memory
    asked,    // reached by messages only, or not at all: the rank is known to have ended
  };
  access reach = access::refused;
  std::byte* memory = nullptr;
  std::uint64_t address = 0;
};

class region_table {
 public:
  static constexpr std::size_t common_bytes = 4096;

  /// `transports`: in the order of preference; the first one that shares memory provides it. `settings.regions_max`: a
  /// power of two, equal in all ranks. If its table takes more than half of the shared memory, the default is lowered
  /// to the greatest number that does not. **Errors**: configuration for another number; std::bad_alloc.
  region_table(std::uint32_t rank, std::uint32_t size, const std::vector<std::unique_ptr<net::transport>>& transports,
               const base::settings& settings);
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;

  /// How many regions may be open at a time.
  [[nodiscard]] std::uint32_t regions_max() const noexcept { return last_index_ + 1; }

  struct opened {
    std::uint64_t name;
    std::span<std::byte> memory;
  };
  /// Opens `memory`. **Errors**: invalid_state beyond the greatest number of regions.
  [[nodiscard]] std::uint64_t open(std::span<std::byte> memory);
  /// Opens `bytes` zeroes, which it allocates, and which peers map if memory can be shared. **Errors**: out_of_memory;
  /// invalid_state beyond the greatest number of regions. After an error nothing has changed.
  [[nodiscard]] opened open_new(std::size_t bytes);
  /// Whether no region is open. **Threads**: no other one uses the table.
  [[nodiscard]] bool is_empty() const noexcept { return ended_.size() == fresh_; }

  /// Withdraws the region called `name`, and takes memory of `open_new` back.
  void close(std::uint64_t name) noexcept;

  /// `rank` has ended, and is cut off: from here on none of its regions is found. Memory that was found before stays
  /// mapped. **Threads**: any.
  void forget(std::uint32_t rank) noexcept {
    // [region.forget] release -> [region.table], [region.page], [region.table_in_call]: the rank is cut off.
    peers_[rank].store(nullptr, std::memory_order_release);
  }

  /// A page of `rank`'s shared memory for the library's own use, all zeros at first; null where it is not mapped here,
  /// and if that rank is known to have ended.
  [[nodiscard]] std::byte* common(std::uint32_t rank) const noexcept {
    // [region.page] relaxed <- [region.forget]: carries nothing.
    std::byte* const base = rank == rank_ ? own_ : peers_[rank].load(std::memory_order_relaxed);
    return base == nullptr ? nullptr : base + table_bytes();
  }

  /// The address of `bytes` bytes from `offset` of this rank's region `name`; null if it is withdrawn or too short.
  [[nodiscard]] std::byte* find(std::uint64_t name, std::uint64_t offset, std::uint64_t bytes) const noexcept;

  /// Finds them in a region of `rank`.
  [[nodiscard]] region_location locate(std::uint32_t rank, std::uint64_t name, std::uint64_t offset,
                                       std::uint64_t bytes) const noexcept;

  /// The memory that `locate` finds, if it is a peer's and mapped here, for the common put and get. Null: call
  /// `locate`.
  [[nodiscard]] std::byte* mapped_in_call(std::uint32_t rank, std::uint64_t name, std::uint64_t offset,
                                          std::uint64_t bytes) const noexcept {
    // [region.table_in_call] relaxed <- [region.forget]: carries nothing; `locate` reads it again.
    std::byte* const table = peers_[rank].load(std::memory_order_relaxed);
    if (table == nullptr) return nullptr;
    const entry& from = reinterpret_cast<const entry*>(table)[index_of(name)];
    // [region.find_mapped] acquire <- [region.open], [region.close]: where the region with this name lies.
    if (from.name.load(std::memory_order_acquire) != name) return nullptr;
    // [region.read_mapped] relaxed <- [region.fill]: published by the name.
    const std::uint64_t size = from.bytes.load(std::memory_order_relaxed);
    // [region.read_mapped] relaxed <- [region.fill]: published by the name.
    const std::uint64_t shared_offset = from.shared.load(std::memory_order_relaxed) - 1;
    // The peer wrote this: memory outside of its segment is not touched. If the region is not shared, `shared_offset`
    // is larger than `all`.
    const std::uint64_t all = all_bytes_;
    if (!is_within(offset, bytes, size) || shared_offset > all || !is_within(offset, bytes, all - shared_offset))
      return nullptr;
    return table + shared_offset + offset;
  }

 private:
  // Written by the owner; all zeros: no region. The other fields are valid while `name` is the region's name.
  struct alignas(detail::cache_line_bytes / 2) entry {
    std::atomic<std::uint64_t> name;
    std::atomic<std::uint64_t> address;  // address in the owner's memory
    std::atomic<std::uint64_t> bytes;
    std::atomic<std::uint64_t> shared;  // offset in the shared memory + 1; 0: the region is not in it
  };
  static_assert(sizeof(entry) == 32 && std::atomic<std::uint64_t>::is_always_lock_free);
  // The owner's entries: pages of zeroes that take no memory until they are written.
  struct zeroed_entries {
    std::size_t bytes;
    void operator()(entry* gone) const noexcept { detail::release_zeroed(gone, bytes); }
  };
  // What lies before the memory for regions: the table, then the page of `common`.
  [[nodiscard]] std::size_t table_bytes() const noexcept { return sizeof(entry) * (std::size_t{last_index_} + 1); }
  [[nodiscard]] std::size_t reserved_bytes() const noexcept { return table_bytes() + common_bytes; }
  static constexpr std::size_t page_bytes = 4096;

  [[nodiscard]] std::uint32_t index_of(std::uint64_t name) const noexcept {
    return static_cast<std::uint32_t>(name) & last_index_;
  }
  [[nodiscard]] static bool read(const entry& from, std::uint64_t name, std::uint64_t offset, std::uint64_t bytes,
                                 region_location& out, std::uint64_t& shared) noexcept;
  struct facts {
    std::uint64_t name, address, bytes, shared;
  };
  static void fill(entry& out, const facts& values) noexcept;
  // All under the lock.
  [[nodiscard]] std::uint32_t free_index();
  [[nodiscard]] std::uint64_t open_at(std::uint32_t index, std::span<std::byte> memory) noexcept;
  [[nodiscard]] std::span<std::byte> allocate(std::size_t bytes);
  void give_back(std::map<std::byte*, std::size_t>::node_type&& piece) noexcept;

  std::uint32_t rank_;
  std::uint32_t last_index_;     // last index of the table, whose size is a power of two
  std::byte* own_ = nullptr;     // this rank's shared memory; null if no memory is shared
  std::byte* shared_ = nullptr;  // the part of it that is for regions
  std::size_t shared_bytes_ = 0;
  std::uint64_t all_bytes_ = 0;  // bytes of the shared memory, the table included
  std::unique_ptr<entry[], zeroed_entries> own_entries_;
  entry* published_ = nullptr;  // a copy for peers, in the shared memory
  // Index: rank. Its shared memory as mapped here; null where it is not, and once the rank is known to have ended.
  std::vector<std::atomic<std::byte*>> peers_;
  std::mutex mutex_;
  std::uint64_t generation_ = 0;
  std::uint32_t fresh_ = 0;                      // entries from here on were never used, and take no memory
  std::vector<std::uint32_t> ended_;             // the others that are free
  std::map<std::byte*, std::size_t> free_;       // parts of the shared memory
  std::map<std::byte*, std::size_t> allocated_;  // parts that `open_new` has given
};

}  // namespace weft::core
