# weft-mpicc and weft-mpicxx, for the build's tree and for the installed one, and weft-mpi.pc.
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

file(RELATIVE_PATH WEFT_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-mpi.pc.in ${PROJECT_BINARY_DIR}/weft-mpi.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft-mpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(TARGETS weft_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${WEFT_MPI_INCLUDE}/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft-mpi)
