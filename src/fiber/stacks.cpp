#include "fiber/stacks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <new>

namespace weft::fibers {

stacks::stacks(std::size_t bytes, std::uint32_t guarded)
    : page_{static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))},
      bytes_{std::max((bytes + page_ - 1) / page_ * page_, page_)},
      stride_{(bytes_ / page_ + 1 + (bytes_ / page_) % 2) * page_},
      guarded_{guarded} {}

stacks::~stacks() {
  for (std::byte* each : slabs_) {
    if (each != nullptr) ::munmap(each, stride_ * slab_stacks);
  }
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
  // Refused where the process has too many mappings: the stack is checked then like the others.
  if (slot < guarded_) static_cast<void>(::mprotect(begin, page_, PROT_NONE));
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
