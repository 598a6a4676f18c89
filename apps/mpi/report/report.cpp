// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <mpi.h>

#include <array>

namespace mpi_report {

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string out{text.data()};
  out = out.substr(0, out.find('\n'));
  for (char& each : out) {
    if (each == '\t') each = ' ';
  }
  return out;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char each : text) {
    if (each == '"' || each == '\\') out += '\\';
    if (static_cast<unsigned char>(each) >= ' ') out += each;
  }
  return out + "\"";
}

}  // namespace mpi_report
