// SPDX-License-Identifier: BSD-3-Clause
// Atomics that count the accesses to what locks guard: links of nodes, entries of buckets.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/atomics.hpp"

namespace weft::test {

struct counting_atomics : detail::std_atomics {
  static inline std::uint64_t accesses = 0;

  static void write_nonatomic(void* shared, const void* source, std::size_t bytes) noexcept {
    ++accesses;
    std_atomics::write_nonatomic(shared, source, bytes);
  }
  static void read_nonatomic(void* target, const void* shared, std::size_t bytes) noexcept {
    ++accesses;
    std_atomics::read_nonatomic(target, shared, bytes);
  }
};

/// How many such words `call` reads and writes.
template <class Call>
std::uint64_t touched_by(const Call& call) {
  const std::uint64_t before = counting_atomics::accesses;
  call();
  return counting_atomics::accesses - before;
}

}  // namespace weft::test
