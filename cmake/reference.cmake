# SPDX-License-Identifier: BSD-3-Clause
# The reference of the public interface, from the comments in its headers: <build>/reference/html/index.html.
find_program(WEFT_DOXYGEN doxygen)
if(WEFT_DOXYGEN)
  configure_file(cmake/Doxyfile.in Doxyfile @ONLY)
  add_custom_target(reference COMMAND ${WEFT_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile VERBATIM)
endif()
