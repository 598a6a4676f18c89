// SPDX-License-Identifier: BSD-3-Clause
#include "weft/test/guarded_memory.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.hpp"
#include "weft/error.hpp"
#include "weft/runtime.hpp"

namespace weft::test {

namespace {

[[noreturn]] void refuse_memory(std::size_t bytes) {
  throw error{errc::out_of_memory, fmt::format("guarded_memory of {} bytes: {}", bytes, std::strerror(errno))};
}

}  // namespace

guarded_memory::two_views::two_views(std::size_t wanted) : bytes{wanted} {
  if (bytes == 0) throw error{errc::invalid_argument, "guarded_memory: no bytes"};
  const base::descriptor file{::memfd_create("weft-guarded", MFD_CLOEXEC)};
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) refuse_memory(bytes);
  const auto map = [&](int protection) {
    void* const mapped = ::mmap(nullptr, bytes, protection, MAP_SHARED, file.get(), 0);
    return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
  };
  guarded = map(PROT_NONE);
  if (guarded == nullptr) refuse_memory(bytes);
  open = map(PROT_READ | PROT_WRITE);
  if (open != nullptr) return;
  const int why = errno;
  ::munmap(guarded, bytes);
  errno = why;
  refuse_memory(bytes);
}

guarded_memory::two_views::~two_views() {
  ::munmap(guarded, bytes);
  ::munmap(open, bytes);
}

// A kind says how its memory is copied, which addresses it has, and what the library may do by itself: here nothing, so
// the other members keep their defaults. Buffers name the memory, in whose context the functions find this object.
guarded_memory::guarded_memory(weft::runtime& owner, std::size_t bytes, const guarded_memory_options& options)
    : pages_{bytes},
      kind_{owner,
            "guarded",
            {.copy_out = copy_out,
             .copy_in = copy_in,
             .contains = options.knows_addresses ? contains : nullptr,
             .context = this}},
      memory_{kind_, this} {}

buffer_ref guarded_memory::buffer(std::size_t offset, std::size_t bytes) const {
  static_cast<void>(checked("buffer", offset, bytes));
  return {pages_.guarded + offset, bytes, memory_};
}

void guarded_memory::write(std::size_t offset, std::span<const std::byte> from) {
  std::byte* const to = checked("write", offset, from.size());
  if (!from.empty()) std::memcpy(to, from.data(), from.size());
}

void guarded_memory::read(std::size_t offset, std::span<std::byte> to) const {
  const std::byte* const from = checked("read", offset, to.size());
  if (!to.empty()) std::memcpy(to.data(), from, to.size());
}

// The address is the buffer's, which need not be the memory's first one; the offset is in the message.
std::size_t guarded_memory::copy_out(const weft::memory& memory, const void* address, std::uint64_t offset,
                                     std::byte* to, std::size_t bytes) {
  auto& self = *static_cast<guarded_memory*>(memory.context());
  const std::byte* const from = self.find(address, offset, bytes);
  if (from == nullptr) return 0;  // another number than `bytes`: the operation fails
  std::memcpy(to, from, bytes);
  self.given_.fetch_add(bytes, std::memory_order_relaxed);  // [stat]
  return bytes;
}

std::size_t guarded_memory::copy_in(const weft::memory& memory, void* address, std::uint64_t offset,
                                    const std::byte* from, std::size_t bytes) {
  auto& self = *static_cast<guarded_memory*>(memory.context());
  std::byte* const to = self.find(address, offset, bytes);
  if (to == nullptr) return 0;
  std::memcpy(to, from, bytes);
  self.taken_.fetch_add(bytes, std::memory_order_relaxed);  // [stat]
  return bytes;
}

// Whether one of these bytes is guarded: the two ranges overlap.
bool guarded_memory::contains(void* context, const void* address, std::size_t bytes) noexcept {
  const two_views& pages = static_cast<const guarded_memory*>(context)->pages_;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const auto begin = reinterpret_cast<std::uintptr_t>(pages.guarded);
  return first < begin ? bytes > begin - first : first - begin < pages.bytes;
}

std::byte* guarded_memory::find(const void* address, std::uint64_t offset, std::size_t bytes) const noexcept {
  const std::uint64_t begin =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(pages_.guarded) + offset;
  return begin <= pages_.bytes && bytes <= pages_.bytes - begin ? pages_.open + begin : nullptr;
}

std::byte* guarded_memory::checked(const char* call, std::size_t offset, std::size_t bytes) const {
  std::byte* const found = find(pages_.guarded, offset, bytes);
  if (found != nullptr) return found;
  throw error{errc::invalid_argument, fmt::format("guarded_memory::{}: {} bytes at offset {} reach beyond its {} bytes",
                                                  call, bytes, offset, pages_.bytes)};
}

}  // namespace weft::test
