// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/user_error_codes.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>

#include "mpi/error/error.hpp"
#include "mpi/error/error_classes.hpp"

namespace weft::mpi {
namespace {

constexpr int first_code = MPI_ERR_LASTCODE + 1;

int fail_unknown(int code) noexcept { return fail(MPI_ERR_ARG, "%d is no error class or code of a user", code); }

}  // namespace

user_error_codes::entry* user_error_codes::find(int code) noexcept {
  if (code < first_code || code > last_used_) return nullptr;
  entry& out = entries_[static_cast<std::size_t>(code - first_code)];
  return out.error_class != 0 ? &out : nullptr;
}

bool user_error_codes::is_class(int code) noexcept {
  const entry* const found = find(code);
  return found != nullptr ? found->error_class == code : is_predefined_class(code);
}

int user_error_codes::add(int error_class, int* added) {
  const int code = last_used_ + 1;
  entries_.push_back({.error_class = error_class != 0 ? error_class : code});
  if (entry* const found = find(error_class)) ++found->codes;
  // [own] Users read it through the attribute's pointer, at their own risk while another thread adds a code.
  std::atomic_ref{last_used_}.store(code, std::memory_order_relaxed);
  *added = code;
  return MPI_SUCCESS;
}

int user_error_codes::add_class(int* added) noexcept {
  const std::lock_guard locked{mutex_};
  return guarded([&] { return add(0, added); });
}

int user_error_codes::add_code(int error_class, int* added) noexcept {
  const std::lock_guard locked{mutex_};
  if (!is_class(error_class)) return fail(MPI_ERR_ARG, "%d is no error class", error_class);
  return guarded([&] { return add(error_class, added); });
}

int user_error_codes::add_text(int code, const char* text) noexcept {
  if (std::strlen(text) >= MPI_MAX_ERROR_STRING)
    return fail(MPI_ERR_ARG, "a text of %zu characters; %d are allowed", std::strlen(text), MPI_MAX_ERROR_STRING - 1);
  const std::lock_guard locked{mutex_};
  entry* const found = find(code);
  if (found == nullptr) return fail_unknown(code);
  return guarded([&] {
    found->text = text;
    found->has_text = true;
    return MPI_SUCCESS;
  });
}

int user_error_codes::remove_class(int error_class) noexcept {
  const std::lock_guard locked{mutex_};
  entry* const found = find(error_class);
  if (found == nullptr || found->error_class != error_class) return fail_unknown(error_class);
  if (found->codes != 0) return fail(MPI_ERR_ARG, "class %d has codes, which are to be removed before it", error_class);
  if (found->has_text) return fail(MPI_ERR_ARG, "class %d has a text, which is to be removed before it", error_class);
  found->error_class = 0;
  return MPI_SUCCESS;
}

int user_error_codes::remove_code(int code) noexcept {
  const std::lock_guard locked{mutex_};
  entry* const found = find(code);
  if (found == nullptr || found->error_class == code) return fail_unknown(code);
  if (found->has_text) return fail(MPI_ERR_ARG, "code %d has a text, which is to be removed before it", code);
  if (entry* const owner = find(found->error_class)) --owner->codes;
  found->error_class = 0;
  return MPI_SUCCESS;
}

int user_error_codes::remove_text(int code) noexcept {
  const std::lock_guard locked{mutex_};
  entry* const found = find(code);
  if (found == nullptr || !found->has_text) return fail(MPI_ERR_ARG, "%d has no text of a user", code);
  found->text.clear();
  found->has_text = false;
  return MPI_SUCCESS;
}

int user_error_codes::find_class(int code, int* error_class) noexcept {
  const std::lock_guard locked{mutex_};
  const entry* const found = find(code);
  if (found == nullptr && !is_predefined_class(code)) return fail(MPI_ERR_ARG, "%d is no error class or code", code);
  *error_class = found != nullptr ? found->error_class : code;
  return MPI_SUCCESS;
}

int user_error_codes::copy_text(int code, char* text, int* length) noexcept {
  const std::lock_guard locked{mutex_};
  if (const entry* const found = find(code)) {
    *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "%s", found->text.c_str());
    return MPI_SUCCESS;
  }
  if (!is_predefined_class(code)) return fail(MPI_ERR_ARG, "%d is no error class or code", code);
  const class_text known = text_of(code);
  *length = std::snprintf(text, MPI_MAX_ERROR_STRING, "%s: %s", known.name, known.meaning);
  return MPI_SUCCESS;
}

}  // namespace weft::mpi
