// SPDX-License-Identifier: BSD-3-Clause
#include "base/reserved_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/memory_limit.hpp"

namespace weft::base {
namespace {

std::size_t whole_pages(std::size_t bytes) noexcept {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

// A part of the address space that the process may have, so that reservations of several runtimes leave room for the
// rest.
constexpr std::uint64_t part_of_limit = 16;

}  // namespace

reserved_memory::reserved_memory(std::size_t bytes, std::size_t bytes_max) {
  const std::uint64_t allowed = std::min<std::uint64_t>(bytes_max, memory_limit() / part_of_limit);
  for (reserved_ = whole_pages(std::max<std::size_t>(bytes, allowed));; reserved_ = whole_pages(reserved_ / 2)) {
    if (reserved_ < bytes) throw std::bad_alloc{};
    begin_ = ::mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin_ != MAP_FAILED) break;
    if (reserved_ == whole_pages(reserved_ / 2)) throw std::bad_alloc{};
  }
  if (try_grow(bytes)) return;
  ::munmap(begin_, reserved_);
  throw std::bad_alloc{};
}

reserved_memory::~reserved_memory() { ::munmap(begin_, reserved_); }

bool reserved_memory::try_grow(std::size_t bytes) noexcept {
  const std::size_t whole = whole_pages(bytes);
  if (whole <= bytes_) return true;
  if (whole > reserved_ ||
      ::mprotect(static_cast<std::byte*>(begin_) + bytes_, whole - bytes_, PROT_READ | PROT_WRITE) != 0) {
    return false;
  }
  bytes_ = whole;
  return true;
}

}  // namespace weft::base
