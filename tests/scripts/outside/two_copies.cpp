// SPDX-License-Identifier: BSD-3-Clause
// Loads the plugin that is its argument, which has a copy of Weft besides the program's own; then makes a runtime.
#include <dlfcn.h>

#include <cstdio>

#include <weft/weft.hpp>

int main(int count, char** arguments) {
  if (count == 2 && dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  weft::runtime runtime;
  std::printf("rank %d of %d\n", static_cast<int>(runtime.rank()), static_cast<int>(runtime.size()));
}
