// SPDX-License-Identifier: BSD-3-Clause
// The basic types: numbers, characters and bytes, by their handles in MPI's standard ABI; and pairs of two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::mpi {

/// How external32 writes a basic type: bytes as they are, or big endian numbers.
enum class representation : std::uint8_t { bytes, signed_integer, unsigned_integer, boolean, real, complex };

/// One basic type. `external_bytes`: of the representation external32 (MPI 5.0, 15.5.2).
struct basic {
  std::uint32_t handle;
  std::uint32_t bytes;
  std::uint32_t alignment;
  std::uint32_t external_bytes;
  representation is;
  const char* name;
};

/// A value and an int behind it, as a C struct has them.
struct basic_pair {
  std::uint32_t handle;
  std::uint32_t value;  // handle
  std::uint32_t index;
  const char* name;
};

/// Fortran's default kinds, whose bytes its compiler chooses, and what a type has of them.
enum class default_kind : std::uint8_t { logical, integer, real, double_precision, character };
enum class default_form : std::uint8_t { number, complex, pair };
/// A type of such a kind: its handle is known, and it has no size until the kind has one (default_kinds.hpp).
struct absent_type {
  std::uint32_t handle;
  const char* name;
  default_kind kind;
  default_form form;
};

[[nodiscard]] std::span<const basic> basics() noexcept;
[[nodiscard]] std::span<const basic_pair> basic_pairs() noexcept;
[[nodiscard]] std::span<const absent_type> absent_types() noexcept;

/// The basic type with this handle; null: none has it.
[[nodiscard]] const basic* find_basic(std::uint32_t handle) noexcept;

inline constexpr std::uint32_t null_handle = 0x200;
inline constexpr std::uint32_t first_handle = 0x201, last_handle = 0x2ff;

/// The size that a handle of a fixed-size type encodes; 0 for other handles.
[[nodiscard]] constexpr std::size_t encoded_bytes(std::uintptr_t handle) noexcept {
  return handle >= 0x240 && handle <= last_handle ? std::size_t{1} << (handle >> 3 & 7) : 0;
}

}  // namespace weft::mpi
