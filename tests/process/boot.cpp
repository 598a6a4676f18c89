// SPDX-License-Identifier: BSD-3-Clause
// The bootstrap of a real process: values of awkward sizes and bytes to everybody, several fences.
// ranks: 1 2 3 5
// subject: src/boot programs/weft-run
#include "boot/bootstrap.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>

#include "base/config.hpp"

namespace {

using weft::boot::bootstrap;

// All byte values, different for each rank, round and length.
std::string pattern(std::uint32_t rank, int round, std::size_t bytes) {
  std::string text(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 31 + rank * 7 + static_cast<unsigned>(round));
  return text;
}

void require(bool good, const std::string& description) {
  if (!good) throw std::runtime_error{description};
}

void exchange(bootstrap& boot) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t bytes : {0, 1, 2, 3, 700, 4096}) {
      boot.put(fmt::format("r{}.bytes-{}", round, bytes), pattern(boot.rank(), round, bytes));
    }
    boot.fence();
    for (std::uint32_t rank = 0; rank < boot.size(); ++rank) {
      for (const std::size_t bytes : {0, 1, 2, 3, 700, 4096}) {
        const std::string got = boot.get(rank, fmt::format("r{}.bytes-{}", round, bytes));
        require(got == pattern(rank, round, bytes), fmt::format("wrong value of rank {}, {} bytes", rank, bytes));
      }
    }
  }
  for (int round = 0; round < 20; ++round) boot.fence();
}

}  // namespace

int main() {
  try {
    const auto boot = weft::boot::process_bootstrap();
    const auto promised = weft::base::process_settings().test_ranks.value_or(1);
    require(boot->size() == promised, fmt::format("{} ranks instead of {}", boot->size(), promised));
    exchange(*boot);
    std::printf("rank %u of %u by %s\n", boot->rank(), boot->size(), boot->name());
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "boot: %s\n", problem.what());
    return 1;
  }
}
