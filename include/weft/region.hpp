// Memory that peers can put into and get from, and the handles by which they name it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "weft/error.hpp"

namespace weft {

class runtime;
namespace core {
class runtime_state;
}

/// Names a region of some rank. Travels by any means, byte for byte; refused where it does not fit.
struct remote_region {
  std::uint64_t job = 0;       ///< of the runtime that it was made in
  std::uint64_t name = 0;      ///< which region of that rank; never used again
  std::uint64_t bytes = 0;     ///< size of the region
  std::uint32_t rank = 0;      ///< whose memory it is
  std::uint32_t reserved = 0;  ///< zero
};
static_assert(std::is_trivially_copyable_v<remote_region> && sizeof(remote_region) == 32);

/// A place in a region.
struct remote_buffer {
  remote_region region;      ///< which
  std::uint64_t offset = 0;  ///< in bytes
};

/// Keeps memory open to peers for as long as it lives.
///
/// Memory that the library allocates is mapped by all ranks of the same machine: a put or get is a plain copy there.
/// Memory of the user's is written by the kernel or by this rank's progress.
///
/// **Buffer**: what peers do to the memory is visible to this rank once it has heard of it: by a put's signal, or by a
/// message that was posted after a flush.
class memory_region {
 public:
  /// Allocates `bytes` zeroes, at a page's start. **Blocking**: briefly. **Threads**: any.
  /// **Errors**: `invalid_argument` for no bytes, `out_of_memory` beyond `WEFT_SHARED_BYTES`, `invalid_state` beyond
  /// 1024 regions at once.
  memory_region(weft::runtime& owner, std::size_t bytes);

  /// Opens `memory`, which stays the caller's and has to outlive the region. **Blocking**, **Threads** and **Errors**:
  /// as above.
  memory_region(weft::runtime& owner, std::span<std::byte> memory);

  /// Withdraws it: what peers ask for from now on is refused. Those that may be writing at this moment have to be
  /// known to be through, by a barrier for example. **Blocking**: briefly. **Threads**: any.
  ~memory_region();

  memory_region(const memory_region&) = delete;
  memory_region& operator=(const memory_region&) = delete;

  /// This rank's own way to it.
  [[nodiscard]] std::span<std::byte> memory() const noexcept { return memory_; }
  /// Its size.
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.size(); }
  /// The memory as an array of `Element`.
  template <class Element>
  [[nodiscard]] std::span<Element> as() const noexcept {
    static_assert(std::is_trivially_copyable_v<Element>);
    return {reinterpret_cast<Element*>(memory_.data()), memory_.size() / sizeof(Element)};
  }

  /// The name by which peers reach it.
  [[nodiscard]] const remote_region& handle() const noexcept { return handle_; }
  /// The place `offset` bytes into it, as peers name it.
  [[nodiscard]] remote_buffer at(std::uint64_t offset) const noexcept { return {handle_, offset}; }

 private:
  weft::runtime* runtime_;
  std::span<std::byte> memory_;
  remote_region handle_;
};

}  // namespace weft
