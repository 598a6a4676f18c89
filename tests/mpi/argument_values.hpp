// SPDX-License-Identifier: BSD-3-Clause
// Values for the arguments of a function of MPI: right ones, and wrong ones that it has to refuse.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mpi/argument_objects.hpp"
#include "mpi/call_table.hpp"

namespace weft::test {

struct wrong_argument {
  std::uintptr_t value;
  int error_class;
};

/// Of a rank, between MPI_Init and MPI_Finalize. MPI_COMM_SELF is the communicator, and all peers are MPI_PROC_NULL.
class argument_values {
 public:
  /// Makes the right arguments of a function: memory is filled, and objects that it may end are made.
  void prepare(const mpi_call& of);
  [[nodiscard]] const std::vector<std::uintptr_t>& right() const noexcept { return right_; }
  /// Values that the function has to refuse, whatever its other arguments are.
  [[nodiscard]] std::vector<wrong_argument> wrong(std::size_t parameter) const;
  /// Whether the function has written nothing to memory since `prepare`.
  [[nodiscard]] bool is_untouched() const { return memory_ == before_; }
  /// Ends the objects that `prepare` and the function have made.
  void finish();

 private:
  static constexpr std::size_t memory_bytes = 1024;  // of each parameter: above all texts, and 200 elements

  [[nodiscard]] std::uintptr_t right_of(const mpi_parameter& of, std::byte* memory);
  void fill(const mpi_parameter& of, std::byte* memory);
  void add_wrong_handles(std::string_view type, std::vector<wrong_argument>& to) const;
  void add_wrong_addresses(const mpi_parameter& of, std::vector<wrong_argument>& to) const;
  [[nodiscard]] bool is_null_wrong(const mpi_parameter& of) const;

  argument_objects objects_;
  const mpi_call* call_ = nullptr;
  std::vector<std::uintptr_t> right_;
  std::vector<std::byte> memory_, before_;
};

}  // namespace weft::test
