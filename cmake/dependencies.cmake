# All of these come from the distribution (scripts/setup); nothing is downloaded here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(libfabric REQUIRED libfabric)  # its headers: it is loaded when it is first used

if(WEFT_PROGRAMS)
  find_package(CLI11 REQUIRED)
  find_package(ZLIB REQUIRED)
  find_package(nlohmann_json REQUIRED)
  pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
  pkg_check_modules(htslib REQUIRED IMPORTED_TARGET htslib)
  pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
  pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
endif()

if(WEFT_TESTS)
  find_package(GTest)
  find_package(Python3 COMPONENTS Interpreter)
  find_package(Boost 1.74 QUIET COMPONENTS context)
  find_program(WEFT_HYDRA mpiexec.hydra)
endif()
