// SPDX-License-Identifier: BSD-3-Clause
// Memory for blocks of units, which a collective addresses by counts and displacements.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "basic_types.hpp"
#include "layout.hpp"
#include "scene.hpp"

namespace differential {

/// Memory of one rank in a layout of its own, for which a count of 1 is one unit.
class block_side {
 public:
  block_side(std::uint64_t seed, const signature& unit, int units) : units_{make(seed, unit)}, each_{unit.elements()} {
    const layout& of = units_;
    const long low = std::min(of.true_lower(), 0L), high = std::max(of.true_upper(), 0L);
    before_ = (64 - low + 15) / 16 * 16;
    bytes_.assign(static_cast<std::size_t>(before_ + high + std::max(units, 1) * of.extent + 64), std::byte{0xa5});
    MPI_Type_commit(&units_.type);
  }

  [[nodiscard]] void* address() { return bytes_.data() + before_; }
  [[nodiscard]] MPI_Datatype type() const { return units_.type; }
  [[nodiscard]] long extent() const { return units_.extent; }
  void write(std::uint64_t stream, int first, int count) { write(bytes_, stream, first, count); }
  /// A call has to leave all as it was, but these units.
  void want(std::uint64_t stream, int first, int count) {
    if (wanted_.empty()) wanted_ = bytes_;
    write(wanted_, stream, first, count);
  }
  void check(scene& here, const char* name) {
    if (wanted_.empty()) wanted_ = bytes_;
    clear_padding(bytes_);
    clear_padding(wanted_);
    here.log("%s: hash %016llx", name, static_cast<unsigned long long>(hash_of(bytes_.data(), bytes_.size())));
    here.expect(bytes_ == wanted_, "%s: other bytes in %s", name, units_.text.c_str());
  }

 private:
  static layout make(std::uint64_t seed, const signature& unit) {
    random_source random{seed};
    return random_layout(random, unit);
  }
  void write(std::vector<std::byte>& to, std::uint64_t stream, int first, int count) {
    for (int unit = 0; unit < count; ++unit) {
      for (std::size_t i = 0; i < each_; ++i) {
        const item& of = units_.map[i];
        const basic_type& basic = basic_types()[static_cast<std::size_t>(of.basic)];
        const long at = before_ + (first + unit) * units_.extent + of.at;
        write_value(to.data() + at, basic, stream, static_cast<std::uint64_t>(unit) * each_ + i);
        written_.emplace_back(at, &basic);
      }
    }
  }
  void clear_padding(std::vector<std::byte>& of) {
    for (const auto& [at, basic] : written_) {
      std::fill(of.begin() + at + static_cast<long>(basic->value_bytes),
                of.begin() + at + static_cast<long>(basic->size), std::byte{});
    }
  }

  layout units_;
  std::size_t each_;
  long before_ = 0;
  std::vector<std::byte> bytes_, wanted_;
  std::vector<std::pair<long, const basic_type*>> written_;
};

}  // namespace differential
