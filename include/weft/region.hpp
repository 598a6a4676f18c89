// SPDX-License-Identifier: BSD-3-Clause
// Memory regions, which peers can put into and get from, and the handles that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

#include "weft/error.hpp"

namespace weft {

class runtime;
namespace core {
class runtime_state;
}
namespace detail {
template <class Container>
concept elements_not_bytes = !std::is_convertible_v<Container, std::span<std::byte>> &&
                             std::is_pointer_v<decltype(std::data(std::declval<Container&>()))>;
}  // namespace detail

/// The handle of a rank's region. Send it to peers by any means, byte for byte. A handle of another job or rank is
/// refused.
struct remote_region {
  std::uint64_t job = 0;       ///< number of the job in which it was made
  std::uint64_t name = 0;      ///< number of the region at its rank; never used again
  std::uint64_t bytes = 0;     ///< size of the region
  std::uint32_t rank = 0;      ///< the rank that owns the memory
  std::uint32_t reserved = 0;  ///< zero
};
static_assert(std::is_trivially_copyable_v<remote_region> && sizeof(remote_region) == 32);

/// An offset in a region.
struct remote_buffer {
  remote_region region;      ///< the region
  std::uint64_t offset = 0;  ///< distance in bytes
};

/// Keeps memory open to puts, gets and atomics of peers for as long as it lives.
///
/// All ranks of one machine map memory that the library allocates: a put or get is one copy there. The kernel or this
/// rank's progress copies into and out of memory that the user allocates.
///
/// **Buffer**: this rank sees a peer's put after the signal of the put, or after a message that the peer posted after a
/// flush.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class memory_region {
 public:
  /// Allocates `bytes` zero bytes, aligned to a page. **Blocking**: briefly, for memory and a lock. **Errors**:
  /// `invalid_argument` for 0 bytes; `out_of_memory` if no piece of that size is left of `WEFT_SHARED_BYTES`;
  /// `invalid_state` beyond `WEFT_REGIONS_MAX` regions at once.
  memory_region(weft::runtime& owner, std::size_t bytes);

  /// Opens `memory`. **Blocking**: briefly, for a lock. **Buffer**: `memory` stays the caller's and must outlive the
  /// region.
  /// **Errors**: `invalid_argument` for empty memory, a null pointer, or memory of a kind (memory.hpp) that knows its
  /// addresses; `invalid_state` beyond `WEFT_REGIONS_MAX` regions at once.
  memory_region(weft::runtime& owner, std::span<std::byte> memory);
  /// Does not compile: says what to write instead of a container of other elements than bytes.
  template <class Container>
  requires detail::elements_not_bytes<Container>  //
  memory_region(weft::runtime& /*owner*/, Container&& /*memory*/) {
    static_assert(!detail::elements_not_bytes<Container>,
                  "a region is of memory that can be written and outlives it: write "
                  "std::as_writable_bytes(std::span{container})");
  }
  template <class WriteRuntimeThenSizeOr = std::span<std::byte>>
  explicit memory_region(...) = delete;  // write a runtime, and a size in bytes or a span of writable bytes

  /// Withdraws the region: later puts, gets and atomics of peers are refused. Make sure that no peer is accessing the
  /// memory at that moment, for example by a barrier. **Blocking**: briefly, for a lock.
  ~memory_region();

  memory_region(const memory_region&) = delete;
  memory_region& operator=(const memory_region&) = delete;

  /// The memory, for this rank.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// The size in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }
  /// The memory as an array of `Element`.
  template <class Element>
  [[nodiscard]] std::span<Element> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<Element>);
    return {reinterpret_cast<Element*>(memory_.data()), memory_.size() / sizeof(Element)};
  }

  /// The handle, for peers.
  [[nodiscard]] const remote_region& handle() const noexcept { return handle_; }
  /// The handle with an offset of `offset` bytes, for posts of peers.
  [[nodiscard]] remote_buffer at(std::uint64_t offset) const noexcept { return {handle_, offset}; }

 private:
  weft::runtime* runtime_;
  std::span<std::byte> memory_;
  remote_region handle_;
};

}  // namespace weft
