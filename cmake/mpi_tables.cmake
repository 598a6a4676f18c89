# SPDX-License-Identifier: BSD-3-Clause
# What the build makes of the tables in src/mpi/api: mpi.h, mpix.h, the entry points, checked calls, the version script, and the list
# of absent functions; and a table of calls for tests. Sets WEFT_MPI_INCLUDE, WEFT_MPI_ENTRIES, WEFT_MPI_EXPORTS, WEFT_MPI_CALLS.
set(WEFT_MPI_INCLUDE ${PROJECT_BINARY_DIR}/include/weft-mpi)
set(WEFT_MPI_EXPORTS ${PROJECT_BINARY_DIR}/generated/mpi/exports.map)
set(WEFT_MPI_CALLS ${PROJECT_BINARY_DIR}/generated/mpi/calls.cpp)
set(WEFT_MPI_ENTRIES "")
set(checked_calls "")

file(GLOB tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/api/*.table)
file(GLOB extensions CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/api/extensions/*.table)
file(GLOB rows CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/api/*.tsv
  ${PROJECT_SOURCE_DIR}/src/mpi/api/extensions/*.tsv)
file(GLOB generator CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/api/*.py)

# weft_mpi_generate(output table words...): a file that generate.py makes of one table, or of all.
function(weft_mpi_generate output table)
  add_custom_command(OUTPUT ${output} DEPENDS ${table} ${rows} ${generator} VERBATIM
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/src/mpi/api/generate.py ${ARGN} ${output})
endfunction()

weft_mpi_generate(${WEFT_MPI_INCLUDE}/mpi.h "${tables}" header)
weft_mpi_generate(${WEFT_MPI_INCLUDE}/mpix.h "${extensions}" extension-header)
weft_mpi_generate(${WEFT_MPI_EXPORTS} "${tables};${extensions}" exports)
weft_mpi_generate(${PROJECT_BINARY_DIR}/generated/mpi/absent.md "${tables}" absent)
weft_mpi_generate(${WEFT_MPI_CALLS} "${tables}" calls)
foreach(table IN LISTS tables)
  get_filename_component(chapter ${table} NAME_WE)
  set(entries ${PROJECT_BINARY_DIR}/generated/mpi/${chapter}.cpp)
  weft_mpi_generate(${entries} "${table}" entries ${chapter})
  list(APPEND WEFT_MPI_ENTRIES ${entries})
  # In a folder of their own, so that they are compiled together, and apart from the entry points.
  set(checked ${PROJECT_BINARY_DIR}/generated/mpi/checked/${chapter}.cpp)
  weft_mpi_generate(${checked} "${table}" checked ${chapter})
  list(APPEND checked_calls ${checked})
endforeach()
foreach(table IN LISTS extensions)
  get_filename_component(chapter ${table} NAME_WE)
  set(entries ${PROJECT_BINARY_DIR}/generated/mpi/extensions/${chapter}.cpp)
  weft_mpi_generate(${entries} "${table}" extension-entries ${chapter})
  list(APPEND WEFT_MPI_ENTRIES ${entries})
  set(checked ${PROJECT_BINARY_DIR}/generated/mpi/checked/extension_${chapter}.cpp)
  weft_mpi_generate(${checked} "${table}" extension-checked ${chapter})
  list(APPEND checked_calls ${checked})
endforeach()
list(APPEND WEFT_MPI_ENTRIES ${checked_calls})
add_custom_target(weft-mpi-header DEPENDS ${WEFT_MPI_INCLUDE}/mpi.h ${WEFT_MPI_INCLUDE}/mpix.h ${WEFT_MPI_EXPORTS}
  ${PROJECT_BINARY_DIR}/generated/mpi/absent.md ${WEFT_MPI_CALLS})
