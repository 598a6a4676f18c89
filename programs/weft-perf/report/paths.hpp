// SPDX-License-Identifier: BSD-3-Clause
// By which path messages, puts and gets went, by the devices' counters; never guessed from a size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "weft/counters.hpp"

namespace weft::perf {

enum class path : std::uint8_t {
  cell,                 ///< inline, beside its header
  packet,               ///< in a packet
  many_packets,         ///< longer, piece by piece
  cross_memory,         ///< from memory to memory by one side
  cross_memory_shared,  ///< from memory to memory by both sides together
  mapped_memory,        ///< a plain copy into or out of memory that is mapped by its peer
  libfabric,
};
inline constexpr std::size_t path_count = static_cast<std::size_t>(path::libfabric) + 1;

[[nodiscard]] const char* name_of(path taken) noexcept;

/// The bytes that the devices of one rank, or of several, have counted.
class traffic {
 public:
  static constexpr std::size_t words = 11;

  traffic() = default;
  /// `fabric_bytes`: of the runtime's counters.
  traffic(const device_counters& counted, std::uint64_t fabric_bytes) noexcept;

  traffic& operator+=(const traffic& other) noexcept;
  traffic& operator-=(const traffic& before) noexcept;
  [[nodiscard]] std::array<double, words>& values() noexcept { return values_; }
  [[nodiscard]] const std::array<double, words>& values() const noexcept { return values_; }

 private:
  std::array<double, words> values_{};
};

/// Which part of the bytes went by which path; all zeros: unknown.
class path_mix {
 public:
  path_mix() = default;
  /// `by_all`: of all ranks that took part, as one counts bytes that another one posted.
  explicit path_mix(const traffic& by_all) noexcept;

  [[nodiscard]] double fraction(path taken) const noexcept { return fractions_[static_cast<std::size_t>(taken)]; }
  void set(path taken, double fraction) noexcept { fractions_[static_cast<std::size_t>(taken)] = fraction; }
  [[nodiscard]] bool are_known() const noexcept;
  /// A path that counts has a twentieth of the bytes: setting up a measurement and answering windows takes a few.
  [[nodiscard]] bool counts(path taken) const noexcept { return fraction(taken) >= 0.05; }
  /// The path of most bytes, if they are known.
  [[nodiscard]] path main() const noexcept;

  /// `cell`, or `packet 80 %, cell 20 %`: for people. Empty: unknown.
  [[nodiscard]] std::string text() const;
  /// `packet=0.8,cell=0.2`, as ranks tell it the program that started them.
  [[nodiscard]] std::string wire_text() const;
  [[nodiscard]] static path_mix parse(const std::string& wire_text);

 private:
  std::array<double, path_count> fractions_{};
};

}  // namespace weft::perf
