// SPDX-License-Identifier: BSD-3-Clause
// Objects of MPI by the names of their handles' types, so that a table of parameters can ask for them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string_view>
#include <vector>

#include "mpi.h"
#include "mpi/call_table.hpp"

namespace weft::test {

template <class Handle>
std::uintptr_t handle_number(Handle handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}

class argument_objects {
 public:
  argument_objects();
  ~argument_objects();
  argument_objects(const argument_objects&) = delete;
  argument_objects& operator=(const argument_objects&) = delete;

  /// A handle that `function` takes, whose object lives as long as this.
  [[nodiscard]] std::uintptr_t lasting(std::string_view type, std::string_view function) const;
  /// A handle of an object that `end` or the function ends.
  [[nodiscard]] static std::uintptr_t fresh(std::string_view type, std::string_view function);
  static void end(std::string_view type, std::uintptr_t handle);

  /// A key of attributes, by the name of the parameter.
  [[nodiscard]] int lasting_key(std::string_view name) const;
  [[nodiscard]] static int fresh_key(std::string_view name);
  static void end_key(std::string_view name, int key);
  [[nodiscard]] int lasting_class() const noexcept { return error_class_; }

  /// One value of a handle's type; the empty type is none's.
  struct handle {
    std::string_view type;
    std::uintptr_t value;
    bool is_null;
  };
  [[nodiscard]] const std::vector<handle>& all() const noexcept { return all_; }
  /// The address of several handles with this value, which is one of `all()`.
  [[nodiscard]] std::uintptr_t array_of(std::uintptr_t value) const;

 private:
  std::vector<handle> all_;
  std::deque<std::array<std::uintptr_t, 4>> arrays_;  // in the order of `all_`
  std::uintptr_t cartesian_ = 0;
  int communicator_key_ = MPI_KEYVAL_INVALID, type_key_ = MPI_KEYVAL_INVALID;
  int error_class_ = MPI_ERR_OTHER;
};

}  // namespace weft::test
