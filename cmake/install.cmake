# SPDX-License-Identifier: BSD-3-Clause
# The library, its headers, the programs for users and the documentation; no tests, no private headers.
include(CMakePackageConfigHelpers)

install(TARGETS weft EXPORT weft-targets)
if(TARGET weft_shared)
  install(TARGETS weft_shared EXPORT weft-targets)
endif()
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "README.md")

configure_package_config_file(cmake/weft-config.cmake.in weft-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
write_basic_package_version_file(weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

# A program that links the archive links what it uses, too.
set(WEFT_PC_LIBRARY -l:libweft.a)
if(BUILD_SHARED_LIBS)
  set(WEFT_PC_LIBRARY -lweft)
  set(WEFT_PC_REQUIRES "Requires.private: fmt")
else()
  set(WEFT_PC_REQUIRES "Requires: fmt")
endif()
# Relative to the file itself, so that the tree can be installed or moved anywhere.
file(RELATIVE_PATH WEFT_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/weft.pc.in weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

get_property(programs GLOBAL PROPERTY WEFT_PROGRAM_NAMES)
if(programs)
  install(TARGETS ${programs})
  install(DIRECTORY perf/peers/ DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/perf FILES_MATCHING PATTERN "*.c" PATTERN "*.cpp")
endif()
foreach(documentation README.md CHANGELOG.md LICENSE docs examples)
  if(IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${documentation})
    install(DIRECTORY ${documentation} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  elseif(EXISTS ${PROJECT_SOURCE_DIR}/${documentation})
    install(FILES ${documentation} DESTINATION ${CMAKE_INSTALL_DOCDIR})
  endif()
endforeach()
# The pages link to headers beside them.
file(RELATIVE_PATH headers_from_pages ${CMAKE_INSTALL_FULL_DOCDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
install(CODE "file(CREATE_LINK ${headers_from_pages} \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}/include SYMBOLIC)")

# Debug information is nine tenths of libraries and programs: the installed copies are without it, and names of functions,
# which backtraces show, stay.
option(WEFT_INSTALL_DEBUG "Install libraries and programs with their debug information" OFF)
if(CMAKE_STRIP AND NOT WEFT_INSTALL_DEBUG)
  set(stripped "")
  foreach(target IN ITEMS weft weft_shared weft_mpi ${programs})
    if(TARGET ${target})
      get_target_property(type ${target} TYPE)
      set(folder ${CMAKE_INSTALL_LIBDIR})
      if(type STREQUAL "EXECUTABLE")
        set(folder ${CMAKE_INSTALL_BINDIR})
      endif()
      list(APPEND stripped "${folder}/$<TARGET_FILE_NAME:${target}>")
    endif()
  endforeach()
  install(CODE "foreach(file IN ITEMS ${stripped})
    execute_process(COMMAND \"${CMAKE_STRIP}\" --strip-debug \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/\${file}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
endif()
