# SPDX-License-Identifier: BSD-3-Clause
# weft-mpicc and weft-mpicxx, for the build's tree and for the installed one, and weft-mpi.pc.
# Beside them a folder for PATH in which they have the names that builds and scripts look for, as does the launcher.
# CMake finds the C compiler only if C is enabled, which Weft does not need otherwise.
find_program(WEFT_MPI_CC NAMES cc gcc clang DOC "The compiler that weft-mpicc calls")

function(weft_mpi_wrapper WEFT_WRAPPER WEFT_WRAPPER_VARIABLE WEFT_WRAPPER_SUFFIX WEFT_WRAPPER_COMPILER)
  set(template ${PROJECT_SOURCE_DIR}/programs/weft-mpicc/wrapper.sh.in)
  set(permissions FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(WEFT_WRAPPER_INCLUDE include/weft-mpi)
  set(WEFT_WRAPPER_LIB lib)
  configure_file(${template} ${PROJECT_BINARY_DIR}/bin/${WEFT_WRAPPER} @ONLY ${permissions})
  set(WEFT_WRAPPER_INCLUDE ${CMAKE_INSTALL_INCLUDEDIR}/weft-mpi)
  set(WEFT_WRAPPER_LIB ${CMAKE_INSTALL_LIBDIR})
  configure_file(${template} ${PROJECT_BINARY_DIR}/installed/${WEFT_WRAPPER} @ONLY ${permissions})
  install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/${WEFT_WRAPPER} DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
weft_mpi_wrapper(weft-mpicc MPICC_COMPILER c "${WEFT_MPI_CC}")
weft_mpi_wrapper(weft-mpicxx MPICXX_COMPILER cpp "${CMAKE_CXX_COMPILER}")

# weft_mpi_name(name target): a link in the folder for PATH, which is the same in the build's tree and in the installed one.
set(folder weft/mpi/bin)
file(RELATIVE_PATH WEFT_BIN_FROM_NAMES /prefix/${CMAKE_INSTALL_LIBDIR}/${folder} /prefix/${CMAKE_INSTALL_BINDIR})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/lib/${folder})
function(weft_mpi_name name target)
  file(CREATE_LINK ../../../../bin/${target} ${PROJECT_BINARY_DIR}/lib/${folder}/${name} SYMBOLIC)
  set(installed "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/${folder}")
  install(CODE "file(MAKE_DIRECTORY ${installed})
    file(CREATE_LINK ${WEFT_BIN_FROM_NAMES}/${target} ${installed}/${name} SYMBOLIC)")
endfunction()
weft_mpi_name(mpicc weft-mpicc)
weft_mpi_name(mpicxx weft-mpicxx)
weft_mpi_name(mpic++ weft-mpicxx)
if(WEFT_HAS_weft-run)
  weft_mpi_name(mpiexec weft-run)
  weft_mpi_name(mpirun weft-run)
endif()

file(RELATIVE_PATH WEFT_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-mpi.pc.in ${PROJECT_BINARY_DIR}/weft-mpi.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS weft_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${PROJECT_BINARY_DIR}/generated/mpi/absent.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs RENAME mpi-absent.md)
install(FILES ${WEFT_MPI_INCLUDE}/mpi.h ${WEFT_MPI_INCLUDE}/mpix.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft-mpi)
