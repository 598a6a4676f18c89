// SPDX-License-Identifier: BSD-3-Clause
#include "scene.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

namespace differential {
namespace {

void append(std::string& to, const char* format, va_list arguments) {
  char line[512];
  std::vsnprintf(line, sizeof line, format, arguments);
  to += line;
  to += '\n';
}

}  // namespace

scene::scene(std::uint64_t seed, MPI_Comm of, std::FILE* log_file) : random{seed}, own{seed}, comm{of}, to{log_file} {
  MPI_Comm_rank(of, &rank);
  MPI_Comm_size(of, &size);
  own = random_source{mix(seed) + static_cast<std::uint64_t>(rank)};
}

void scene::log(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  append(text, format, arguments);
  va_end(arguments);
}

void scene::expect(bool is_right, const char* format, ...) {
  if (is_right) return;
  ++wrongs;
  text += "WRONG: ";
  va_list arguments;
  va_start(arguments, format);
  append(text, format, arguments);
  va_end(arguments);
}

void scene::must(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  expect(false, "%s returns %s", call, class_name(result).c_str());
  std::fputs(text.c_str(), to);
  std::fflush(to);
  MPI_Abort(MPI_COMM_WORLD, 3);
}

void scene::must_be(int result, int wanted, const char* call) {
  const std::string is = class_name(result), should = class_name(wanted);
  log("%s: %s", call, is.c_str());
  expect(is == should, "%s returns %s, expected is %s", call, is.c_str(), should.c_str());
}

std::vector<std::string> left_out;

bool is_left_out(const char* name) { return std::find(left_out.begin(), left_out.end(), name) != left_out.end(); }

std::string class_name(int error) {
  static const std::vector<std::pair<int, const char*>> names{
      {MPI_SUCCESS, "MPI_SUCCESS"},
      {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"},
      {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
      {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
      {MPI_ERR_TAG, "MPI_ERR_TAG"},
      {MPI_ERR_COMM, "MPI_ERR_COMM"},
      {MPI_ERR_RANK, "MPI_ERR_RANK"},
      {MPI_ERR_REQUEST, "MPI_ERR_REQUEST"},
      {MPI_ERR_ROOT, "MPI_ERR_ROOT"},
      {MPI_ERR_GROUP, "MPI_ERR_GROUP"},
      {MPI_ERR_OP, "MPI_ERR_OP"},
      {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY"},
      {MPI_ERR_DIMS, "MPI_ERR_DIMS"},
      {MPI_ERR_ARG, "MPI_ERR_ARG"},
      {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN"},
      {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE"},
      {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
      {MPI_ERR_INTERN, "MPI_ERR_INTERN"},
      {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS"},
      {MPI_ERR_PENDING, "MPI_ERR_PENDING"},
      {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL"},
      {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION"}};
  int of = MPI_ERR_UNKNOWN;
  if (MPI_Error_class(error, &of) != MPI_SUCCESS) return "no error code";
  for (const auto& [value, name] : names) {
    if (value == of) return name;
  }
  return "another class";
}

std::uint64_t hash_of(const void* bytes, std::size_t count) {
  const auto* at = static_cast<const unsigned char*>(bytes);
  std::uint64_t out = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < count; ++i) out = (out ^ at[i]) * 0x100000001b3U;
  return out;
}

}  // namespace differential
