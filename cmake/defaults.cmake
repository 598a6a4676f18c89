# SPDX-License-Identifier: BSD-3-Clause
# What holds unless the user says otherwise: a build type, ccache, a list of compile commands.
if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(WEFT_CCACHE ccache)
    if(WEFT_CCACHE)
      # What ccache must overlook to keep objects that were made with precompiled headers.
      set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${WEFT_CCACHE})
    endif()
  endif()
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
