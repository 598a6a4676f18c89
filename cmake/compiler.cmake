# SPDX-License-Identifier: BSD-3-Clause
# Warnings, sanitizers and precompiled headers. All belong to Weft's own targets and never to its users.
add_library(weft_warnings INTERFACE)
target_compile_options(weft_warnings INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang AND WEFT_UNITY)
  # It also warns where a name hides one of another source's unnamed namespace, which is there because both are compiled at
  # once. GCC warns of all others.
  target_compile_options(weft_warnings INTERFACE -Wno-shadow)
endif()
if(WEFT_WERROR)
  target_compile_options(weft_warnings INTERFACE -Werror)
endif()

if(WEFT_SANITIZE)
  # Everything must be instrumented alike, so these go to all targets.
  add_compile_options(-fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${WEFT_SANITIZE})
  if(WEFT_SANITIZE MATCHES undefined)
    # This check opens a pipe to look at an object, so it cries out in tests that run out of descriptors.
    add_compile_options(-fno-sanitize=vptr)
  endif()
  if(WEFT_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # GCC warns of each atomic_thread_fence, which the sanitizer does not model; where one matters, tests/model shows it.
    add_compile_options(-Wno-tsan)
  endif()
endif()

# Parsing these takes most of the time of a typical source. Precompiled once, they are what every source of a target sees
# first; that each file includes what it uses is shown by builds without it (WEFT_ALONE, preset clang).
set(WEFT_COMMON_HEADERS <algorithm> <array> <atomic> <chrono> <cstring> <functional> <map> <memory> <mutex> <optional>
  <span> <string> <string_view> <thread> <vector> <fmt/format.h>)
