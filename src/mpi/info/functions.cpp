// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/info/functions.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/info/info.hpp"

namespace weft::mpi {
namespace {

// Copies the part of a value that a buffer of `bytes` holds, with 0 at its end.
void copy_value_to(char* to, std::size_t bytes, const std::string& value) noexcept {
  const std::size_t length = std::min(value.size(), bytes - 1);
  std::memcpy(to, value.data(), length);
  to[length] = '\0';
}

int fail_constant() noexcept { return fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed"); }

}  // namespace

int create_info(MPI_Info* made) noexcept {
  return guarded([&] {
    *made = new_handle(std::make_unique<info>());
    return MPI_SUCCESS;
  });
}

int duplicate_info(const info& object, MPI_Info* made) noexcept {
  return guarded([&] {
    *made = new_handle(std::make_unique<info>(object));
    return MPI_SUCCESS;
  });
}

int free_info(MPI_Info* handle) noexcept {
  info* const found = find_info(*handle);
  if (found == nullptr) return fail(MPI_ERR_INFO, "it is no info object to free");
  delete found;
  *handle = MPI_INFO_NULL;
  return MPI_SUCCESS;
}

int set_value(info& object, MPI_Info handle, const char* key, const char* value) noexcept {
  if (handle == MPI_INFO_ENV) return fail_constant();
  return guarded([&] {
    object.set(key, value);
    return MPI_SUCCESS;
  });
}

int delete_value(info& object, MPI_Info handle, const char* key) noexcept {
  if (handle == MPI_INFO_ENV) return fail_constant();
  return guarded([&] { return object.erase(key) ? MPI_SUCCESS : fail(MPI_ERR_INFO_NOKEY, "there is no key %s", key); });
}

int get_value(const info& object, const char* key, int length, char* value, int* flag) noexcept {
  if (length < 0) return fail(MPI_ERR_ARG, "a length of %d", length);
  return guarded([&] {
    const std::optional<std::string> found = object.find(key);
    *flag = found ? 1 : 0;
    if (found) copy_value_to(value, static_cast<std::size_t>(length) + 1, *found);
    return MPI_SUCCESS;
  });
}

int get_value(const info& object, const char* key, int* length, char* value, int* flag) noexcept {
  if (*length < 0 || (*length > 0 && value == nullptr)) return fail(MPI_ERR_ARG, "a buffer of length %d", *length);
  return guarded([&] {
    const std::optional<std::string> found = object.find(key);
    *flag = found ? 1 : 0;
    if (!found) return MPI_SUCCESS;
    if (*length > 0) copy_value_to(value, static_cast<std::size_t>(*length), *found);
    *length = static_cast<int>(found->size()) + 1;
    return MPI_SUCCESS;
  });
}

int get_length(const info& object, const char* key, int* length, int* flag) noexcept {
  return guarded([&] {
    const std::optional<std::string> found = object.find(key);
    *flag = found ? 1 : 0;
    if (found) *length = static_cast<int>(found->size());
    return MPI_SUCCESS;
  });
}

int get_key(const info& object, int index, char* key) noexcept {
  return guarded([&] {
    const std::optional<std::string> found = index >= 0 ? object.key(static_cast<std::size_t>(index)) : std::nullopt;
    if (!found) return fail(MPI_ERR_ARG, "key %d of an info object of %zu", index, object.size());
    copy_value_to(key, MPI_MAX_INFO_KEY, *found);
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
