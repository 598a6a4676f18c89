# SPDX-License-Identifier: BSD-3-Clause
# check_headers: a source that includes a header twice and nothing else shows that the header is whole. With WEFT_LONG each
# header has such a source, and otherwise those that WEFT_ALONE names; the rest of a folder share one. A header that some
# source includes first is left out, where a source of its own or a share of its folder's has compiled it.
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  src/*.cpp apps/*.cpp programs/*.cpp perf/*.cpp tests/*.cpp)
set(included_first "")
foreach(source IN LISTS sources)
  file(STRINGS ${source} line REGEX "^#include " LIMIT_COUNT 1)
  if(line MATCHES "\"(.+)\"")
    list(APPEND included_first ${CMAKE_MATCH_1})
  endif()
endforeach()

# weft_check_headers(name header...): a source of check_headers that includes these, each twice.
set(checks "")
function(weft_check_headers name)
  set(text "")
  foreach(header IN LISTS ARGN)
    string(APPEND text "#include \"${PROJECT_SOURCE_DIR}/${header}\"\n#include \"${PROJECT_SOURCE_DIR}/${header}\"\n")
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/check_headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "${text}")
  set(checks ${checks} ${source} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  include/*.hpp src/*.hpp apps/*.hpp programs/*.hpp perf/*.hpp tests/*.hpp)
set(folders "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^[a-z]+/" "" included ${header})
  get_filename_component(folder ${header} DIRECTORY)
  string(MAKE_C_IDENTIFIER ${folder} group)
  if(WEFT_LONG AND included IN_LIST included_first)
    continue()
  elseif(WEFT_LONG OR header IN_LIST WEFT_ALONE)
    weft_check_headers(${header} ${header})
  elseif(header MATCHES "^(include|src)/")
    list(APPEND folders ${group})
    list(APPEND headers_of_${group} ${header})
  elseif(NOT included IN_LIST included_first)
    weft_check_headers(${header} ${header})
  endif()
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(group IN LISTS folders)
  weft_check_headers(${group} ${headers_of_${group}})
endforeach()

add_library(check_headers OBJECT EXCLUDE_FROM_ALL ${checks})
target_compile_options(check_headers PRIVATE -O0 -g0)
if(NOT WEFT_LONG)
  # What a header lacks of these is missed then, where no source misses it either; all else is not.
  set_target_properties(check_headers PROPERTIES DISABLE_PRECOMPILE_HEADERS OFF)
  target_precompile_headers(check_headers PRIVATE ${WEFT_COMMON_HEADERS})
endif()
get_property(program_libraries GLOBAL PROPERTY WEFT_PROGRAM_LIBRARIES)
target_link_libraries(check_headers PRIVATE weft_test ${program_libraries})

if(TARGET weft_layer_mpi)
  target_include_directories(check_headers PRIVATE $<TARGET_PROPERTY:weft_layer_mpi,INTERFACE_INCLUDE_DIRECTORIES>)
  add_dependencies(check_headers weft-mpi-header)
endif()
