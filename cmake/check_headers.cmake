# check_headers: each header compiles alone, from a source that includes it twice and nothing else. A header that some
# source includes first has been compiled alone by that source, where headers aren't precompiled (preset clang).
file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  src/*.cpp apps/*.cpp programs/*.cpp perf/*.cpp tests/*.cpp)
set(included_first "")
foreach(source IN LISTS sources)
  file(STRINGS ${source} line REGEX "^#include " LIMIT_COUNT 1)
  if(line MATCHES "\"(.+)\"")
    list(APPEND included_first ${CMAKE_MATCH_1})
  endif()
endforeach()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  include/*.hpp src/*.hpp apps/*.hpp programs/*.hpp perf/*.hpp tests/*.hpp)
set(alone "")
foreach(header IN LISTS headers)
  string(REGEX REPLACE "^[a-z]+/" "" included ${header})
  if(included IN_LIST included_first)
    continue()
  endif()
  set(source ${PROJECT_BINARY_DIR}/check_headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${source}
    CONTENT "#include \"${PROJECT_SOURCE_DIR}/${header}\"\n#include \"${PROJECT_SOURCE_DIR}/${header}\"\n")
  list(APPEND alone ${source})
endforeach()
add_library(check_headers OBJECT EXCLUDE_FROM_ALL ${alone})
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
