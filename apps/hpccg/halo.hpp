// SPDX-License-Identifier: BSD-3-Clause
// The planes of cells that neighbours exchange: each worker puts its part of a border plane into the neighbour's
// vector, and a signal there says that it has come (dosanjh2016, III.A.3).
#pragma once

#include <cstdint>
#include <span>

#include <weft/weft.hpp>

#include "hpccg/problem.hpp"

namespace weft_hpccg {

/// A vector with the nearest planes of both neighbours, which write these. Once in a runtime.
///
/// A neighbour may put its next planes when this rank has entered a collective after its last use of these.
class halo_vector {
 public:
  /// Collective. `workers`: the rows of each worker, the same at all ranks.
  halo_vector(weft::runtime& rt, const box& grid, std::span<const range> workers);
  ~halo_vector() = default;
  halo_vector(const halo_vector&) = delete;
  halo_vector& operator=(const halo_vector&) = delete;

  [[nodiscard]] std::span<double> all() const noexcept { return region_.as<double>(); }
  [[nodiscard]] std::span<double> own() const noexcept { return all().subspan(box_.plane(), box_.cells()); }

  /// Puts those cells among `mine` that a neighbour needs. **Threads**: each worker, with its rows. **Buffer**: the
  /// library's until `wait_for_sent`.
  void put(const range& mine);
  /// Waits until the planes next to `mine` have come that neighbours have put `times` times.
  void wait_for_planes(const range& mine, std::uint64_t times);
  /// Waits until the cells may be written again that this rank has put.
  void wait_for_sent();

 private:
  // A neighbour.
  struct side {
    bool is_there;
    std::uint32_t rank;
    range border;          // the own cells that it needs
    std::size_t offset;    // of those in its vector, in cells
    std::uint32_t signal;  // the id of its `arrived` for this rank
    std::uint64_t parts;   // in which its workers put a plane
    weft::counter arrived;
    weft::remote_region region{};
  };
  void put_to(side& to, const range& mine);
  void wait_for(const side& from, const range& mine, std::uint64_t times);

  weft::device& device_;
  box box_;
  weft::memory_region region_;
  weft::counter sent_;
  side below_;
  side above_;
  weft::registration from_below_;
  weft::registration from_above_;
};

}  // namespace weft_hpccg
