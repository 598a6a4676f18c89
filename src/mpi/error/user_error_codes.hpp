// SPDX-License-Identifier: BSD-3-Clause
// Error classes and codes that users add, with their texts.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "mpi.h"

namespace weft::mpi {

/// The codes of a process, which lives longer than its rank: they may be added before MPI_Init, and used after
/// MPI_Finalize. Numbers follow MPI_ERR_LASTCODE, in the order of the calls, so that ranks that add in one order have
/// equal numbers. A number that is removed is not used again.
///
/// **Threads**: any, several at once. All functions return an error class.
class user_error_codes {
 public:
  int add_class(int* added) noexcept;
  int add_code(int error_class, int* added) noexcept;
  int add_text(int code, const char* text) noexcept;
  /// Removes a class without codes, and without a text.
  int remove_class(int error_class) noexcept;
  /// Removes a code without a text.
  int remove_code(int code) noexcept;
  int remove_text(int code) noexcept;

  /// Finds also predefined codes, which are classes.
  int find_class(int code, int* error_class) noexcept;
  /// Copies at most MPI_MAX_ERROR_STRING characters with the last one, which is 0. No text was added: it is empty.
  int copy_text(int code, char* text, int* length) noexcept;

  /// The attribute MPI_LASTUSEDCODE: it changes with each addition.
  [[nodiscard]] int* last_used() noexcept { return &last_used_; }

 private:
  struct entry {
    int error_class = 0;  // 0: removed; its own number: it is a class
    int codes = 0;        // counts the codes of a class that are not removed
    bool has_text = false;
    std::string text{};
  };
  [[nodiscard]] entry* find(int code) noexcept;  // null: there is none
  int add(int error_class, int* added);
  [[nodiscard]] bool is_class(int code) noexcept;

  std::mutex mutex_;  // guards all that follows
  std::vector<entry> entries_;
  int last_used_ = MPI_ERR_LASTCODE;
};

}  // namespace weft::mpi
