# SPDX-License-Identifier: BSD-3-Clause
# The version stands in project(); the header by which programs learn it has to say the same.
file(READ include/weft/version.hpp header)
set(wanted "")
foreach(part MAJOR MINOR PATCH)
  list(APPEND wanted "#define WEFT_VERSION_${part} ${PROJECT_VERSION_${part}}\n")
endforeach()
list(APPEND wanted "#define WEFT_VERSION_TEXT \"${PROJECT_VERSION}\"\n")
foreach(line IN LISTS wanted)
  string(FIND "${header}" "${line}" found)
  if(found EQUAL -1)
    string(STRIP "${line}" line)
    message(FATAL_ERROR "Weft: the project has version ${PROJECT_VERSION}; write '${line}' in include/weft/version.hpp")
  endif()
endforeach()
# A build looks again where the header has changed.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS include/weft/version.hpp)
