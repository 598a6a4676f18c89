// SPDX-License-Identifier: BSD-3-Clause
#include "fiber/stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <new>

namespace weft::fibers {
namespace {

// A guard page splits a mapping: it takes one, and the stack above it another.
constexpr std::uint32_t mappings_per_guard = 2;
constexpr std::uint32_t part_for_guards = 4;  // a quarter of all

std::atomic<std::uint32_t> guards_of_process{0};

std::uint32_t guards_max() noexcept {
  static const std::uint32_t most = [] {
    std::uint64_t mappings = 65530;  // the kernel's default
    try {
      std::ifstream file{"/proc/sys/vm/max_map_count"};
      if (std::uint64_t allowed = 0; file >> allowed) mappings = allowed;
    } catch (...) {  // treated as if it could not be read
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(mappings, 1U << 30)) / part_for_guards /
           mappings_per_guard;
  }();
  return most;
}

bool try_take_guard() noexcept {
  // [stacks.guards] relaxed: a number, and nothing with it.
  if (guards_of_process.fetch_add(1, std::memory_order_relaxed) < guards_max()) return true;
  guards_of_process.fetch_sub(1, std::memory_order_relaxed);  // [stacks.no_guard] relaxed: likewise
  return false;
}

void return_guards(std::uint32_t count) noexcept {
  guards_of_process.fetch_sub(count, std::memory_order_relaxed);  // [stacks.guards_back] relaxed: likewise
}

}  // namespace

stacks::stacks(std::size_t bytes, std::uint32_t guarded)
    : page_{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))},
      bytes_{std::max((bytes + page_ - 1) / page_ * page_, page_)},
      stride_{(bytes_ / page_ + 1 + (bytes_ / page_) % 2) * page_},
      guarded_{guarded} {}

stacks::~stacks() {
  for (std::byte* each : slabs_) {
    if (each != nullptr) ::munmap(each, stride_ * slab_stacks);
  }
  return_guards(guards_);
}

stacks::stack stacks::make(std::uint32_t slot) noexcept {
  const std::size_t slab = slot / slab_stacks;
  try {
    if (slab >= slabs_.size()) slabs_.resize(slab + 1);
  } catch (const std::bad_alloc&) {
    return {};
  }
  if (slabs_[slab] == nullptr) {
    void* const made = ::mmap(nullptr, stride_ * slab_stacks, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (made == MAP_FAILED) return {};
    // A huge page for each top would be 2 MiB a fiber.
    static_cast<void>(::madvise(made, stride_ * slab_stacks, MADV_NOHUGEPAGE));
    slabs_[slab] = static_cast<std::byte*>(made);
  }
  std::byte* const begin = slabs_[slab] + slot % slab_stacks * stride_;
  std::byte* const bottom = begin + (stride_ - bytes_);
  // Without a guard page, the stack is checked like the others.
  if (slot < guarded_ && try_take_guard()) {
    if (::mprotect(begin, page_, PROT_NONE) == 0) {
      ++guards_;
    } else {
      return_guards(1);
    }
  }
  const std::size_t colour = slot % 8 * 192;
  return {bottom, bottom + bytes_ - colour};
}

void stacks::release_pages(const stack& unused) const noexcept {
  const auto kept = reinterpret_cast<std::uintptr_t>(unused.top - 1) / page_ * page_;
  auto* const end = reinterpret_cast<std::byte*>(kept);
  if (end > unused.bottom) {
    static_cast<void>(::madvise(unused.bottom, static_cast<std::size_t>(end - unused.bottom), MADV_DONTNEED));
  }
}

}  // namespace weft::fibers
