// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/known.hpp"

namespace weft_hpccg {

namespace {

struct known_box {
  std::uint32_t nx, ny;
  std::uint64_t nz;
  std::vector<known_residual> residuals;
};

// Found by the benchmark's reference program.
const std::vector<known_box>& known_boxes() {
  static const std::vector<known_box> all{
      {10, 10, 10, {{1, 258.24}, {15, 2.15402e-06}}},
      {20, 30, 10, {{1, 486.753}, {15, 0.578564}, {30, 2.14447e-05}}},
      {32, 32, 32, {{1, 813.855}, {15, 6.24995}, {30, 0.00163788}, {45, 7.8367e-08}}},
      {64, 64, 64, {{1, 1654.81}, {15, 19.7523}, {30, 0.107645}, {45, 2.29062e-04}, {60, 4.03876e-07}}}};
  return all;
}

}  // namespace

std::vector<known_residual> known_residuals(const box& of_each, std::uint32_t ranks) {
  for (const known_box& each : known_boxes()) {
    if (each.nx == of_each.nx && each.ny == of_each.ny && each.nz == std::uint64_t{of_each.nz} * ranks) {
      return each.residuals;
    }
  }
  return {};
}

}  // namespace weft_hpccg
