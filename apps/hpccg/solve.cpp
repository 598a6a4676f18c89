// SPDX-License-Identifier: BSD-3-Clause
#include "hpccg/solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <span>

#include "hpccg/halo.hpp"
#include "hpccg/iteration.hpp"
#include "hpccg/team.hpp"

namespace weft_hpccg {

namespace {

std::vector<range> rows_of_workers(const box& grid, std::uint32_t workers) {
  std::vector<range> out;
  for (std::size_t i = 0; i < workers; ++i) {
    out.push_back({grid.cells() * i / workers, grid.cells() * (i + 1) / workers});
  }
  return out;
}

// The solver of one rank.
class solver {
 public:
  solver(weft::runtime& rt, const solve_options& options, const tell_progress& tell)
      : rt_{rt},
        options_{options},
        tell_{tell},
        rows_{rows_of_workers(options.cells, options.workers)},
        matrix_{options.cells, rt.rank() > 0, rt.rank() + 1 < rt.size()},
        direction_{rt, options.cells, rows_},
        solution_(matrix_.rows()),
        residual_(matrix_.rows()),
        image_(matrix_.rows()),
        halo_seconds_(options.workers),
        team_{rt, options.workers} {}

  solve_result run() {
    std::array<weft::device*, 1> served{&rt_.default_device()};
    weft::fiber_scheduler fibers{{.workers = options_.workers, .fibers_per_worker = 1, .devices = served}};
    for (std::size_t row = 0; row < matrix_.rows(); ++row) residual_[row] = right_side(matrix_, row);
    rt_.barrier();
    const auto begin = clock::now();
    std::vector<weft::fiber> all;
    for (std::uint32_t i = 0; i < options_.workers; ++i) {
      all.push_back(fibers.spawn([this, i] { work(i); }, {.worker = i}));
    }
    for (weft::fiber& each : all) each.join();
    found_.seconds = seconds_since(begin);
    found_.halo_seconds = std::ranges::max(halo_seconds_);
    found_.sum_seconds = team_.sum_seconds();
    for (const double x : solution_) {
      const double off = std::abs(x - 1);
      found_.error = std::max(found_.error, std::isnan(off) ? std::numeric_limits<double>::infinity() : off);
    }
    take_greatest();
    return found_;
  }

 private:
  void work(std::uint32_t worker) {
    try {
      iterate(worker);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "weft-hpccg: %s\n", e.what());
      std::fflush(stderr);
      std::_Exit(1);
    }
  }

  // All workers of all ranks get equal sums, so they all leave the loop after an equal number of iterations.
  void iterate(std::uint32_t worker) {
    const range mine = rows_[worker];
    const std::span<double> direction = direction_.own();
    double squares = team_.sum(worker, product(residual_, residual_, mine));
    double factor = 0;
    for (std::uint32_t iteration = 1; iteration <= iterations_max && has_residual(squares); ++iteration) {
      if (worker == 0) found_.residuals.push_back(std::sqrt(squares));
      redirect(direction, factor, residual_, mine);
      multiply(worker, iteration);
      const double step = squares / team_.sum(worker, product(direction, image_, mine));
      add(solution_, step, direction, mine);
      add(residual_, -step, image_, mine);
      const double before = squares;
      squares = team_.sum(worker, product(residual_, residual_, mine));
      factor = squares / before;
      if (worker == 0) tell_(iteration);
    }
    if (worker == 0) found_.residuals.push_back(std::sqrt(squares));
  }

  // image = matrix times direction. Rows that need no plane of a neighbour are computed while planes are under way. A
  // neighbour overwrites a plane in its next iteration; this worker has used it before it adds to a sum of this one.
  void multiply(std::uint32_t worker, std::uint64_t iteration) {
    const box& grid = options_.cells;
    const range mine = rows_[worker];
    const std::size_t second = grid.plane(), last = std::max(second, grid.cells() - grid.plane());
    const auto begin = clock::now();
    direction_.put(mine);
    halo_seconds_[worker] += seconds_since(begin);
    team_.meet();
    matrix_.multiply(direction_.all(), image_, mine.part_in({second, last}));
    const auto inner_end = clock::now();
    direction_.wait_for_planes(mine, iteration);
    direction_.wait_for_sent();
    halo_seconds_[worker] += seconds_since(inner_end);
    matrix_.multiply(direction_.all(), image_, mine.part_in({0, second}));
    matrix_.multiply(direction_.all(), image_, mine.part_in({last, grid.cells()}));
  }

  void take_greatest() {
    std::array<double, 4> numbers{found_.error, found_.seconds, found_.halo_seconds, found_.sum_seconds};
    weft::group all = rt_.world();
    weft::collective::allreduce({}, numbers, weft::reductions::max{}).run(all);
    found_.error = numbers[0];
    found_.seconds = numbers[1];
    found_.halo_seconds = numbers[2];
    found_.sum_seconds = numbers[3];
  }

  weft::runtime& rt_;
  solve_options options_;
  const tell_progress& tell_;
  std::vector<range> rows_;  // of each worker
  matrix matrix_;
  halo_vector direction_;
  std::vector<double> solution_;
  std::vector<double> residual_;
  std::vector<double> image_;         // of the direction
  std::vector<double> halo_seconds_;  // of each worker
  team team_;
  solve_result found_;  // written by worker 0, then by the thread that began
};

}  // namespace

solve_result solve(weft::runtime& rt, const solve_options& options, const tell_progress& tell) {
  return solver{rt, options, tell}.run();
}

}  // namespace weft_hpccg
