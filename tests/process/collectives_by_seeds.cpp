// SPDX-License-Identifier: BSD-3-Clause
// Collectives between processes, by seeds: the arguments are the first one and their number.
// ranks: 2 3 5
// launchers: weft-run
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/random_collectives.hpp"
#include "weft/weft.hpp"

int main(int argc, char** argv) {
  const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 5;
  weft::runtime rt;
  for (std::uint64_t seed = first; seed != first + count; ++seed) {
    const std::string faults = weft::test::run_random_collectives(rt, seed, 10);
    if (faults.empty()) continue;
    std::fprintf(stderr, "rank %u of %u, seed %llu:\n%s", rt.rank(), rt.size(), static_cast<unsigned long long>(seed),
                 faults.c_str());
    return 1;
  }
  rt.barrier();
  return 0;
}
