// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/halo.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace weft_hpccg {

namespace {

// Of the counters of what has come from the rank below, and from the rank above.
constexpr std::uint32_t from_below_id = 1, from_above_id = 2;

range lowest_plane(const box& grid) { return {0, grid.plane()}; }
range highest_plane(const box& grid) { return {grid.cells() - grid.plane(), grid.cells()}; }

std::uint64_t parts_of(const range& plane, std::span<const range> workers) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(workers, [&](const range& rows) { return !rows.part_in(plane).is_empty(); }));
}

}  // namespace

halo_vector::halo_vector(weft::runtime& rt, const box& grid, std::span<const range> workers)
    : device_{rt.default_device()},
      box_{grid},
      region_{rt, grid.cells_with_halo() * sizeof(double)},
      sent_{rt},
      below_{.is_there = rt.rank() > 0,
             .rank = rt.rank() - 1,
             .border = lowest_plane(grid),
             .offset = grid.plane() + grid.cells(),
             .signal = from_above_id,
             .parts = parts_of(highest_plane(grid), workers),
             .arrived = weft::counter{rt}},
      above_{.is_there = rt.rank() + 1 < rt.size(),
             .rank = rt.rank() + 1,
             .border = highest_plane(grid),
             .offset = 0,
             .signal = from_below_id,
             .parts = parts_of(lowest_plane(grid), workers),
             .arrived = weft::counter{rt}},
      from_below_{rt.register_completion(below_.arrived, {.id = from_below_id})},
      from_above_{rt.register_completion(above_.arrived, {.id = from_above_id})} {
  std::vector<weft::remote_region> regions(rt.size());
  weft::group all = rt.world();
  weft::collective::allgather(std::span{&region_.handle(), 1}, regions).run(all);
  if (below_.is_there) below_.region = regions[below_.rank];
  if (above_.is_there) above_.region = regions[above_.rank];
}

void halo_vector::put(const range& mine) {
  put_to(below_, mine);
  put_to(above_, mine);
}

void halo_vector::put_to(side& to, const range& mine) {
  const range part = mine.part_in(to.border);
  if (!to.is_there || part.is_empty()) return;
  const std::span<const double> cells = own().subspan(part.begin, part.size());
  const std::size_t offset = to.offset + part.begin - to.border.begin;
  const weft::remote_buffer there{to.region, offset * sizeof(double)};
  device_.until_accepted([&] { return device_.post_put(to.rank, cells, there, sent_, {.signal = {to.signal}}); });
}

void halo_vector::wait_for_planes(const range& mine, std::uint64_t times) {
  wait_for(below_, mine, times);
  wait_for(above_, mine, times);
}

void halo_vector::wait_for(const side& from, const range& mine, std::uint64_t times) {
  if (!from.is_there || mine.part_in(from.border).is_empty()) return;
  device_.wait(from.arrived, times * from.parts);
}

void halo_vector::wait_for_sent() {
  device_.wait_all(sent_);
  if (sent_.failed() != 0) throw std::runtime_error{"a plane of cells did not reach the neighbour"};
}

}  // namespace weft_hpccg
