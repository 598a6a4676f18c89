// SPDX-License-Identifier: BSD-3-Clause
// Buffers of collectives in tests: elements of two ints, in many layouts, whose gaps may not be written.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi.h"
#include "mpi/datatype/construct.hpp"
#include "mpi/objects/datatype_handle.hpp"

namespace weft::test {

/// Datatypes of two ints each, with different layouts. They are the tests', not those of a rank.
class pair_types {
 public:
  static constexpr int count = 5;
  [[nodiscard]] static MPI_Datatype get(int index) { return all().handles_[static_cast<std::size_t>(index % count)]; }

 private:
  pair_types() {
    using namespace mpi;
    const datatype& number = *find_datatype(MPI_INT);
    const std::array<int, 2> ones{1, 1}, reversed{0, -12}, spread{8, -16};
    make(0, [&](datatype_ref& out) { return make_contiguous(2, &number, width::narrow, out); });
    make(1, [&](datatype_ref& out) { return make_vector(2, 1, 2, &number, width::narrow, out); });
    make(2, [&](datatype_ref& out) {
      return make_hindexed(2, ones.data(), reversed.data(), &number, width::narrow, out);
    });
    make(3, [&](datatype_ref& out) { return make_resized(refs_[1].get(), -8, 24, width::narrow, out); });
    make(4,
         [&](datatype_ref& out) { return make_hindexed(2, ones.data(), spread.data(), &number, width::narrow, out); });
  }
  template <class Make>
  void make(std::size_t index, const Make& by) {
    EXPECT_EQ(static_cast<int>(by(refs_[index])), 0);
    refs_[index]->commit();
    handles_[index] = mpi::handle_of(*refs_[index]);
  }
  static const pair_types& all() {
    static const pair_types out;
    return out;
  }

  std::array<mpi::datatype_ref, count> refs_;
  std::array<MPI_Datatype, count> handles_{};
};

/// Numbers that a rank sends: different ones for each rank, block and purpose.
inline std::vector<int> numbers(int seed, int count) {
  std::vector<int> out(static_cast<std::size_t>(count));
  auto next = static_cast<std::uint32_t>(seed) * 2654435761U + 12345U;
  for (int& each : out) each = static_cast<int>((next = next * 1664525U + 1013904223U) >> 8);
  return out;
}

/// `count` elements of a type in memory that is otherwise filled with one byte, also before and behind them.
class typed_memory {
 public:
  typed_memory(MPI_Datatype type, int count)
      : type_{type}, memory_(static_cast<std::size_t>(2 * margin_bytes + count * extent_bytes_max), filling) {}

  [[nodiscard]] MPI_Datatype type() const noexcept { return type_; }
  [[nodiscard]] void* address() noexcept { return memory_.data() + margin_bytes; }
  /// Writes two ints for each element from `first` on.
  void write(int first, const std::vector<int>& values) {
    const mpi::datatype& type = *mpi::find_datatype(type_);
    void* const at = static_cast<std::byte*>(address()) + first * type.extent();
    type.unpack(at, 0, reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(int));
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const noexcept { return memory_; }

 private:
  static constexpr std::ptrdiff_t margin_bytes = 64;
  static constexpr std::ptrdiff_t extent_bytes_max = 32;
  static constexpr std::byte filling{0xab};
  MPI_Datatype type_;
  std::vector<std::byte> memory_;
};

/// In which form a collective is called.
enum class form { wait, start, keep };
inline constexpr std::array forms{form::wait, form::start, form::keep};

/// Calls one of three forms with these arguments, and waits for the end.
template <class Wait, class Start, class Keep, class... Arguments>
int carry_out(form as, Wait* wait, Start* start, Keep* keep, const Arguments&... arguments) {
  if (as == form::wait) return wait(arguments...);
  MPI_Request request = MPI_REQUEST_NULL;
  const bool is_kept = as == form::keep;
  int error = is_kept ? keep(arguments..., MPI_INFO_NULL, &request) : start(arguments..., &request);
  if (error == MPI_SUCCESS && is_kept) error = MPI_Start(&request);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (is_kept && request != MPI_REQUEST_NULL) {
    EXPECT_EQ(MPI_Request_free(&request), MPI_SUCCESS);
  }
  return error;
}

}  // namespace weft::test
