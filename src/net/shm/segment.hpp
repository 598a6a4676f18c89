// SPDX-License-Identifier: BSD-3-Clause
// A mapped segment: the owner's, sealed against shrinking, or a peer's.
#pragma once

#include <cstddef>
#include <utility>

#include "base/descriptor.hpp"

namespace weft::net::shm {

class segment {
 public:
  segment() noexcept = default;
  segment(segment&& other) noexcept
      : memory_{std::exchange(other.memory_, nullptr)}, bytes_{std::exchange(other.bytes_, 0)} {}
  segment& operator=(segment&& other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~segment();

  /// Makes a memfd of `bytes` zeroes, of which only the pages that are used take memory. **Errors**: out_of_memory,
  /// also where the limit on file sizes is lower (`ulimit -f`), before the kernel sends SIGXFSZ.
  [[nodiscard]] static std::pair<segment, base::descriptor> create(std::size_t bytes);

  /// Maps a peer's segment. **Errors**: transport_failed if it has another size or its owner could still shrink it.
  [[nodiscard]] static segment map(const base::descriptor& file, std::size_t bytes);

  [[nodiscard]] std::byte* memory() const noexcept { return memory_; }

 private:
  segment(std::byte* memory, std::size_t bytes) noexcept : memory_{memory}, bytes_{bytes} {}

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace weft::net::shm
