# SPDX-License-Identifier: BSD-3-Clause
# programs/<name>/ and apps/<name>/, with their folders; perf/*.cpp and examples/*.cpp.
add_library(weft_program INTERFACE)
target_link_libraries(weft_program INTERFACE weft weft_internal weft_warnings fmt::fmt Threads::Threads)
target_include_directories(weft_program INTERFACE ${PROJECT_SOURCE_DIR}/programs)  # what they share

# Command lines: CLI11 takes half a minute to optimize, and what it does takes no time.
if(TARGET CLI11::CLI11)
  add_library(weft-command-line STATIC EXCLUDE_FROM_ALL programs/command_line.cpp)
  target_compile_features(weft-command-line PUBLIC cxx_std_20)
  target_compile_options(weft-command-line PRIVATE -O0 -g0)
  target_include_directories(weft-command-line PUBLIC ${PROJECT_SOURCE_DIR}/programs)
  target_link_libraries(weft-command-line PRIVATE CLI11::CLI11 weft_warnings)
endif()

file(GLOB entries CONFIGURE_DEPENDS programs/*/*.cpp apps/*/*.cpp)
set(folders "")
foreach(entry IN LISTS entries)
  get_filename_component(folder ${entry} DIRECTORY)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  get_filename_component(stem ${folder} NAME)
  get_filename_component(parent ${folder} DIRECTORY)
  weft_program_name(name ${stem})
  if(NOT DEFINED WEFT_HAS_${name})
    message(FATAL_ERROR "Weft: say in cmake/dependencies.cmake what ${name} needs: weft_part(${name} ...)")
  elseif(NOT WEFT_HAS_${name})
    continue()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*/*.cpp)
  weft_add_program(${name} ${parent} ${sources})
  target_include_directories(${name} PRIVATE ${folder})
  if(TARGET ${name}-lib)
    target_include_directories(${name}-lib PUBLIC ${folder})
  endif()
endforeach()

if(TARGET weft-run-lib)
  # Where it finds the MPI library after an installation.
  file(RELATIVE_PATH libraries /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${CMAKE_INSTALL_LIBDIR})
  set_source_files_properties(programs/weft-run/mpi_library.cpp PROPERTIES
    COMPILE_DEFINITIONS WEFT_LIBRARIES_FROM_PROGRAMS="${libraries}")
endif()

if(TARGET weft-dt-lib)
  # Its checksums are those of products that are rounded before they are added, also where one instruction does both.
  target_compile_options(weft-dt-lib PRIVATE -ffp-contract=off)
endif()

# apps/mpi/<name>/: programs of MPI, with Weft's; apps/build-with makes them with any other. They share sources of apps/<name>/.
if(WEFT_HAS_mpi AND WEFT_PROGRAMS)
  set(shared_dt apps/dt/graph.cpp apps/dt/arrays.cpp)
  set(shared_hpccg apps/hpccg/problem.cpp apps/hpccg/known.cpp)
  set(shared_amlayer apps/mpi/report/report.cpp)
  set(shared_async apps/mpi/report/report.cpp)
  set(mpi_programs dt hpccg)
  if(TARGET weft-command-line)
    list(APPEND mpi_programs amlayer async fibers)
  endif()
  foreach(name IN LISTS mpi_programs)
    file(GLOB sources CONFIGURE_DEPENDS apps/mpi/${name}/*.cpp)
    add_executable(mpi-${name} ${sources} ${shared_${name}})
    add_dependencies(mpi-${name} weft-mpi-header)
    target_compile_features(mpi-${name} PRIVATE cxx_std_20)
    target_compile_options(mpi-${name} PRIVATE -ffp-contract=off)
    target_include_directories(mpi-${name} PRIVATE ${PROJECT_SOURCE_DIR}/apps ${PROJECT_BINARY_DIR}/include/weft-mpi)
    target_link_libraries(mpi-${name} PRIVATE weft_mpi weft_warnings)
    set_target_properties(mpi-${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  endforeach()
  if(TARGET mpi-amlayer)
    target_link_libraries(mpi-amlayer PRIVATE weft-command-line Threads::Threads)
    target_link_libraries(mpi-fibers PRIVATE weft-command-line weft_shared)
    target_link_libraries(mpi-async PRIVATE weft-command-line Threads::Threads)
  endif()
endif()

if(WEFT_HAS_weft-perf)
  # What figures are of: written anew at each build, if it has changed.
  string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
  string(STRIP "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${build_type}}"
    flags)
  set(build_info ${PROJECT_BINARY_DIR}/generated/weft-perf/report/build_info.hpp)
  add_custom_target(weft-perf-build-info BYPRODUCTS ${build_info} COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR}
    -D OUTPUT=${build_info} -D "FLAGS=${flags}" -P ${PROJECT_SOURCE_DIR}/cmake/build_info.cmake VERBATIM)
  add_dependencies(weft-perf-lib weft-perf-build-info)
  target_include_directories(weft-perf-lib PUBLIC ${PROJECT_BINARY_DIR}/generated)
  # Reductions are compared with loops that the compiler has vectorized: -O2 of GCC 12 leaves most of them as they are.
  # GCC 12 crashes there in some runs, in the propagation of constants between functions.
  set_source_files_properties(programs/weft-perf/measure/loops.cpp PROPERTIES
    COMPILE_OPTIONS "-O3;$<$<CXX_COMPILER_ID:GNU>:-fno-ipa-cp>")
  # Compiled together with others, the loops of messages become others: GCC 12 inlines less of them (windows of 64 sends
  # and receives, fast cores: 30.5 instead of 33.6 M/s).
  set_source_files_properties(programs/weft-perf/measure/messages.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  # What it compiles for the peers that it finds, where it looks for it: beside itself, as after an installation.
  file(GLOB peer_sources CONFIGURE_DEPENDS perf/peers/*.c perf/peers/*.cpp)
  foreach(source IN LISTS peer_sources)
    get_filename_component(file ${source} NAME)
    configure_file(${source} ${PROJECT_BINARY_DIR}/share/weft/perf/${file} COPYONLY)
  endforeach()
endif()

# Benchmarks stand beside the programs, but are not installed.
file(GLOB benchmarks CONFIGURE_DEPENDS perf/*.cpp)
if(NOT WEFT_HAS_mpi)
  list(FILTER benchmarks EXCLUDE REGEX "/mpi_[^/]*$")
endif()
foreach(source IN LISTS benchmarks)
  get_filename_component(stem ${source} NAME_WE)
  add_executable(${stem} ${source})
  if(stem MATCHES "^mpi_")
    target_link_libraries(${stem} PRIVATE weft_layer_mpi weft_mpi_datatype)
  endif()
  target_link_libraries(${stem} PRIVATE weft_program)
  set_target_properties(${stem} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
endforeach()

# An example sees what a user sees: the public headers, and nothing else.
file(GLOB examples CONFIGURE_DEPENDS examples/*.cpp)
set(WEFT_EXAMPLES "")
foreach(source IN LISTS examples)
  get_filename_component(stem ${source} NAME_WE)
  add_executable(example-${stem} ${source})
  target_link_libraries(example-${stem} PRIVATE weft weft_warnings)
  set_target_properties(example-${stem} PROPERTIES OUTPUT_NAME ${stem}
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
  list(APPEND WEFT_EXAMPLES ${stem})
endforeach()
