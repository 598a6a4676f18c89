// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/regions.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/config.hpp"
#include "weft/error.hpp"

namespace weft::core {

region_table::region_table(std::uint32_t rank, std::uint32_t size,
                           const std::vector<std::unique_ptr<net::transport>>& transports,
                           const base::settings& settings)
    : rank_{rank}, last_index_{settings.regions_max - 1}, own_entries_{nullptr, zeroed_entries{0}}, peers_(size) {
  for (const auto& transport : transports) {
    net::memory_sharing* const sharing = transport->sharing();
    std::byte* const own = sharing != nullptr ? sharing->shared_memory(rank) : nullptr;
    if (own == nullptr || sharing->shared_bytes() == 0) continue;
    const bool may_lower = settings.regions_max == base::settings{}.regions_max;
    while (may_lower && last_index_ != 0 && sharing->shared_bytes() < 2 * reserved_bytes()) last_index_ /= 2;
    if (sharing->shared_bytes() < 2 * reserved_bytes()) {
      throw error{
          errc::configuration,
          fmt::format(
              "{}={} takes {} bytes, more than half of the {} that a rank can share by {}: raise the latter, or "
              "lower the former",
              base::origin_of(settings, "WEFT_REGIONS_MAX"), settings.regions_max, reserved_bytes(),
              sharing->shared_bytes(), base::origin_of(settings, "WEFT_SHARED_BYTES"))};
    }
    own_ = own;
    published_ = reinterpret_cast<entry*>(own);
    shared_ = own + reserved_bytes();
    all_bytes_ = sharing->shared_bytes();
    shared_bytes_ = all_bytes_ - reserved_bytes();
    for (std::uint32_t peer = 0; peer < size; ++peer) {
      // [region.map] relaxed: before other threads know of the runtime.
      if (peer != rank) peers_[peer].store(sharing->shared_memory(peer), std::memory_order_relaxed);
    }
    free_.emplace(shared_, shared_bytes_);
    break;
  }
  void* const entries = detail::allocate_zeroed(table_bytes());
  if (entries == nullptr) throw std::bad_alloc();
  own_entries_ = {static_cast<entry*>(entries), zeroed_entries{table_bytes()}};
}

// Readers use an entry only while it has the region's name, so the name is stored last.
void region_table::fill(entry& out, const facts& values) noexcept {
  // [region.fill] relaxed -> [region.read], [region.read_mapped]: the name publishes it.
  out.address.store(values.address, std::memory_order_relaxed);
  // [region.fill] relaxed -> [region.read], [region.read_mapped]: the name publishes it.
  out.bytes.store(values.bytes, std::memory_order_relaxed);
  // [region.fill] relaxed -> [region.read], [region.read_mapped]: the name publishes it.
  out.shared.store(values.shared, std::memory_order_relaxed);
  // [region.open] release -> [region.find], [region.find_mapped]: carries where the region lies.
  out.name.store(values.name, std::memory_order_release);
}

std::uint64_t region_table::open(std::span<std::byte> memory) {
  const std::scoped_lock lock{mutex_};
  return open_at(free_index(), memory);
}

// Allocates last: nothing that follows can fail.
region_table::opened region_table::open_new(std::size_t bytes) {
  const std::scoped_lock lock{mutex_};
  const std::uint32_t index = free_index();
  const std::span<std::byte> memory = allocate(bytes);
  return {open_at(index, memory), memory};
}

// The entry that `open_at` takes. So that `close` allocates nothing, there is room for all indices in `ended_`.
std::uint32_t region_table::free_index() {
  if (!ended_.empty()) return ended_.back();
  if (ended_.capacity() <= fresh_) ended_.reserve(std::max<std::size_t>(64, 2 * std::size_t{fresh_}));
  if (fresh_ <= last_index_) return fresh_;
  throw error{
      errc::invalid_state,
      fmt::format("rank {} has {} memory regions already, as many as WEFT_REGIONS_MAX allows at a time: raise it "
                  "for all ranks, or open one region for memory that lies together",
                  rank_, std::uint64_t{last_index_} + 1)};
}

std::uint64_t region_table::open_at(std::uint32_t index, std::span<std::byte> memory) noexcept {
  const std::uint64_t name = ++generation_ * (std::uint64_t{last_index_} + 1) + index;
  const bool is_shared = shared_ != nullptr && memory.data() >= shared_ && memory.data() < shared_ + shared_bytes_;
  const auto offset = is_shared ? static_cast<std::uint64_t>(memory.data() - shared_) + reserved_bytes() + 1 : 0;
  const facts lies{name, reinterpret_cast<std::uint64_t>(memory.data()), memory.size(), offset};
  fill(own_entries_[index], lies);
  if (published_ != nullptr) fill(published_[index], lies);
  if (ended_.empty()) {
    ++fresh_;
  } else {
    ended_.pop_back();
  }
  return name;
}

std::span<std::byte> region_table::allocate(std::size_t bytes) {
  const std::size_t pages = (bytes + page_bytes - 1) / page_bytes * page_bytes;
  if (shared_ == nullptr) {
    void* const memory =
        mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages < bytes || memory == MAP_FAILED) {
      throw error{errc::out_of_memory, fmt::format("the system has no {} bytes for a memory region", bytes)};
    }
    try {
      allocated_.emplace(static_cast<std::byte*>(memory), pages);
    } catch (...) {
      munmap(memory, pages);
      throw;
    }
    return {static_cast<std::byte*>(memory), bytes};
  }
  const auto found = std::find_if(free_.begin(), free_.end(), [&](const auto& each) { return each.second >= pages; });
  if (pages < bytes || found == free_.end()) {
    throw error{errc::out_of_memory,
                fmt::format("no {} bytes in one piece are left of the {} that a rank can share; raise "
                            "WEFT_SHARED_BYTES, which takes address space only",
                            bytes, shared_bytes_)};
  }
  std::byte* const memory = found->first;
  allocated_.emplace(memory, pages);  // if this throws, nothing has changed
  auto rest = free_.extract(found);
  rest.key() += pages;
  rest.mapped() -= pages;
  if (rest.mapped() != 0) free_.insert(std::move(rest));
  return {memory, bytes};
}

void region_table::close(std::uint64_t name) noexcept {
  const std::scoped_lock lock{mutex_};
  const std::uint32_t index = index_of(name);
  entry& closed = own_entries_[index];
  auto* const memory = reinterpret_cast<std::byte*>(closed.address.load(std::memory_order_relaxed));  // [locked]
  // [region.close] release -> [region.find], [region.find_mapped]: what this rank did with the region before.
  closed.name.store(0, std::memory_order_release);
  // [region.close] release -> [region.find], [region.find_mapped]: the same for peers.
  if (published_ != nullptr) published_[index].name.store(0, std::memory_order_release);
  ended_.push_back(index);
  const auto found = allocated_.find(memory);
  if (found == allocated_.end()) return;
  give_back(allocated_.extract(found));
}

// Makes the memory zeroes again, which take no memory until written, and merges it with its free neighbours.
void region_table::give_back(std::map<std::byte*, std::size_t>::node_type&& piece) noexcept {
  std::byte* const memory = piece.key();
  const std::size_t bytes = piece.mapped();
  if (shared_ == nullptr) {
    munmap(memory, bytes);
    return;
  }
  if (madvise(memory, bytes, MADV_REMOVE) != 0) std::fill_n(memory, bytes, std::byte{});
  auto here = free_.insert(std::move(piece)).position;  // allocates nothing
  const auto next = std::next(here);
  if (next != free_.end() && here->first + here->second == next->first) {
    here->second += next->second;
    free_.erase(next);
  }
  if (here == free_.begin()) return;
  const auto previous = std::prev(here);
  if (previous->first + previous->second != here->first) return;
  previous->second += here->second;
  free_.erase(here);
}

bool region_table::read(const entry& from, std::uint64_t name, std::uint64_t offset, std::uint64_t bytes,
                        region_location& out, std::uint64_t& shared) noexcept {
  // [region.find] acquire <- [region.open], [region.close]: where the region with this name lies.
  if (name == 0 || from.name.load(std::memory_order_acquire) != name) return false;
  // [region.read] relaxed <- [region.fill]: published by the name.
  const std::uint64_t size = from.bytes.load(std::memory_order_relaxed);
  // [region.read] relaxed <- [region.fill]: published by the name.
  out.address = from.address.load(std::memory_order_relaxed) + offset;
  // [region.read] relaxed <- [region.fill]: published by the name.
  shared = from.shared.load(std::memory_order_relaxed);
  return is_within(offset, bytes, size);
}

std::byte* region_table::find(std::uint64_t name, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  region_location out;
  std::uint64_t shared = 0;
  if (!read(own_entries_[index_of(name)], name, offset, bytes, out, shared)) return nullptr;
  return reinterpret_cast<std::byte*>(out.address);
}

region_location region_table::locate(std::uint32_t rank, std::uint64_t name, std::uint64_t offset,
                                     std::uint64_t bytes) const noexcept {
  region_location out;
  if (rank == rank_) {
    out.memory = find(name, offset, bytes);
    if (out.memory != nullptr) out.reach = region_location::access::mapped;
    return out;
  }
  // [region.table] acquire <- [region.forget]: if it is null, whether the rank is cut off.
  std::byte* const table = peers_[rank].load(std::memory_order_acquire);
  if (table == nullptr) {
    out.reach = region_location::access::asked;
    return out;
  }
  std::uint64_t shared = 0;
  if (!read(reinterpret_cast<const entry*>(table)[index_of(name)], name, offset, bytes, out, shared)) return out;
  out.reach = region_location::access::copied;
  if (shared == 0) return out;
  // The peer wrote this: memory outside of its segment is not touched.
  const std::uint64_t all = all_bytes_;
  if (shared - 1 > all || !is_within(offset, bytes, all - (shared - 1))) {
    out.reach = region_location::access::refused;
    return out;
  }
  out.reach = region_location::access::mapped;
  out.memory = table + (shared - 1) + offset;
  return out;
}

}  // namespace weft::core
