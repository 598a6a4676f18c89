# SPDX-License-Identifier: BSD-3-Clause
# libweft.so, of the objects that are in the archive. Its symbols have a version, and only those of public names are
# exported: a version script lists them. tests/scripts/install_test.py finds names that are missing here.
set(WEFT_PUBLIC_NAMES batch blocking_device buffer_allocator collective completion completion_queue completion_record
  counter describe_communicator detail device error event fiber fiber_barrier fiber_condition fiber_event fiber_mutex fiber_ref
  fiber_scheduler graph group handler hook layout make_group matched_message matching_engine memory memory_kind memory_region
  name_of packet persistent_collective progress_thread registration run_loop runtime runtime_options suspender synchronizer
  task termination test this_fiber use_suspender version version_text wait_descriptor)

set(patterns "")
foreach(name IN LISTS WEFT_PUBLIC_NAMES)
  string(LENGTH ${name} length)
  foreach(kind ZN ZNK ZT?N)  # functions and variables; const functions; tables and types
    string(APPEND patterns "    _${kind}4weft${length}${name}*;\n")
  endforeach()
endforeach()
# What inlined code of public headers calls besides (weft/fiber_local.hpp).
string(APPEND patterns "    _ZN4weft6fibers14next_local_key*;\n    _ZN4weft6fibers13local_pointer*;\n")
file(CONFIGURE OUTPUT weft.map CONTENT
  "WEFT_${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} {\n  global:\n${patterns}  local:\n    *;\n};\n")

add_library(weft_shared SHARED ${WEFT_OBJECTS})
add_library(weft::shared ALIAS weft_shared)
target_compile_features(weft_shared PUBLIC cxx_std_20)
target_include_directories(weft_shared
  PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(weft_shared PUBLIC Threads::Threads PRIVATE fmt::fmt ${CMAKE_DL_LIBS})
target_link_options(weft_shared PRIVATE -Wl,--version-script=${PROJECT_BINARY_DIR}/weft.map -Wl,-Bsymbolic-functions)
set_target_properties(weft_shared PROPERTIES OUTPUT_NAME weft EXPORT_NAME shared LINKER_LANGUAGE CXX
  LINK_DEPENDS ${PROJECT_BINARY_DIR}/weft.map
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
