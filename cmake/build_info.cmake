# SPDX-License-Identifier: BSD-3-Clause
# Run at each build: writes OUTPUT anew where the commit or the flags have changed, so that figures say what they are of.
cmake_minimum_required(VERSION 3.22)
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty OUTPUT_VARIABLE commit ERROR_QUIET
  OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT commit)
  set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT "// What this program was built from.
#pragma once

namespace weft::perf {
inline constexpr const char* commit = \"@commit@\";
inline constexpr const char* flags = \"@FLAGS@\";
}  // namespace weft::perf
")
