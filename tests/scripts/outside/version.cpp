// SPDX-License-Identifier: BSD-3-Clause
// Prints the version by which each part of an installed Weft goes: the CMake package (FOUND_VERSION), headers, library.
#include <weft/version.hpp>

#include <cstdio>

int main() {
  std::printf("%s %s %s\n", FOUND_VERSION, WEFT_VERSION_TEXT, weft::version_text());
  std::printf("%d.%d.%d %u %u\n", WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH,
              static_cast<unsigned>(WEFT_VERSION), static_cast<unsigned>(weft::version()));
}
