// SPDX-License-Identifier: BSD-3-Clause
// Short puts and gets that only copy: to or from a peer's memory that is mapped here.
//
// Cost of a word: the device's first lines, the handle, a line of the peer's table of regions, the word itself, the
// line of the counters. No locked operation by the first eight threads, no saved register. The general twin:
// protocol/one_sided_origin.cpp.
#include <cstring>

#include "base/fast_paths.hpp"
#include "core/device/device_state.hpp"
#include "core/protocol/one_sided_origin.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/device.hpp"

namespace weft {
namespace {

using net::word_bytes;

// The address at which the bytes are mapped here. Null: the general twin has to do it, or to report an error.
[[gnu::always_inline]] inline std::byte* mapped_here(core::device_state& dev, std::uint32_t peer,
                                                     const remote_buffer& target, std::size_t bytes) {
  if constexpr (!base::has_fast_paths) return nullptr;
  const remote_region& region = target.region;
  core::runtime_state& state = dev.runtime();
  if (bytes > core::copied_in_call_max || !dev.marks().is_unasked_rank(peer) || region.rank != peer ||
      region.job != state.job().number() || region.name == 0) [[unlikely]] {
    return nullptr;
  }
  return state.memory().regions().mapped_in_call(peer, region.name, target.offset, bytes);
}

// A separate function, so that the copy of a word saves no register.
[[gnu::noinline]] bool copied(core::device_state& dev, operation opcode, void* to, const void* from,
                              std::size_t bytes) noexcept {
  std::memcpy(to, from, bytes);
  dev.counts().posted(opcode, bytes);
  return true;
}

[[gnu::always_inline]] inline bool fast_copy(core::device_state& dev, operation opcode, void* to, const void* from,
                                             std::size_t bytes) noexcept {
  if (bytes != word_bytes) return copied(dev, opcode, to, from, bytes);
  std::memcpy(to, from, word_bytes);
  dev.counts().posted(opcode, word_bytes);
  return true;
}

}  // namespace

bool detail::fast_put(core::device_state& dev, std::uint32_t peer, ordinary_bytes bytes, const remote_buffer& to) {
  std::byte* const there = mapped_here(dev, peer, to, bytes.bytes);
  if (there == nullptr || bytes.address == nullptr) [[unlikely]]
    return false;
  return fast_copy(dev, operation::put, there, bytes.address, bytes.bytes);
}

bool detail::fast_get(core::device_state& dev, std::uint32_t peer, ordinary_buffer buffer, const remote_buffer& from) {
  const std::byte* const there = mapped_here(dev, peer, from, buffer.bytes);
  if (there == nullptr || buffer.address == nullptr) [[unlikely]]
    return false;
  return fast_copy(dev, operation::get, buffer.address, there, buffer.bytes);
}

}  // namespace weft
