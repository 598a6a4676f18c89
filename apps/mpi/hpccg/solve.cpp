// SPDX-License-Identifier: BSD-3-Clause
#include "solve.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "hpccg/iteration.hpp"
#include "hpccg/known.hpp"

namespace mpi_hpccg {
namespace {

using weft_hpccg::box;
using weft_hpccg::range;

// Tags of planes, by the direction in which they go.
constexpr int upward = 1, downward = 2;

class solver {
 public:
  solver(MPI_Comm comm, const box& cells)
      : comm_{comm},
        rank_{ask(MPI_Comm_rank)},
        ranks_{ask(MPI_Comm_size)},
        cells_{cells},
        all_{0, cells.cells()},
        matrix_{cells, rank_ > 0, rank_ + 1 < ranks_},
        direction_(cells.cells_with_halo()),
        solution_(matrix_.rows()),
        residual_(matrix_.rows()),
        image_(matrix_.rows()) {}

  solve_result run() {
    solve_result out;
    for (std::size_t row = 0; row < matrix_.rows(); ++row) residual_[row] = right_side(matrix_, row);
    MPI_Barrier(comm_);
    const double begin = MPI_Wtime();
    iterate(out.residuals);
    std::array<double, 2> numbers{0, MPI_Wtime() - begin};
    for (const double x : solution_) numbers[0] = std::max(numbers[0], std::isnan(x) ? HUGE_VAL : std::abs(x - 1));
    MPI_Allreduce(MPI_IN_PLACE, numbers.data(), 2, MPI_DOUBLE, MPI_MAX, comm_);
    out.error = numbers[0];
    out.seconds = numbers[1];
    return out;
  }

 private:
  template <class Ask>
  int ask(Ask inquire) const {
    int out = 0;
    inquire(comm_, &out);
    return out;
  }

  [[nodiscard]] std::span<double> own() { return std::span{direction_}.subspan(cells_.plane(), cells_.cells()); }

  double sum(double part) {
    double out = 0;
    MPI_Allreduce(&part, &out, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return out;
  }

  void iterate(std::vector<double>& residuals) {
    double squares = sum(product(residual_, residual_, all_)), factor = 0;
    for (std::uint32_t iteration = 1; iteration <= weft_hpccg::iterations_max && weft_hpccg::has_residual(squares);
         ++iteration) {
      residuals.push_back(std::sqrt(squares));
      redirect(own(), factor, residual_, all_);
      multiply();
      const double step = squares / sum(product(own(), image_, all_));
      add(solution_, step, own(), all_);
      add(residual_, -step, image_, all_);
      const double before = squares;
      squares = sum(product(residual_, residual_, all_));
      factor = squares / before;
    }
    residuals.push_back(std::sqrt(squares));
  }

  // image = matrix times direction. Rows that need no plane of a neighbour are computed while planes travel.
  void multiply() {
    const int below = rank_ > 0 ? rank_ - 1 : MPI_PROC_NULL, above = rank_ + 1 < ranks_ ? rank_ + 1 : MPI_PROC_NULL;
    const std::size_t plane = cells_.plane(), last = std::max(plane, cells_.cells() - plane);
    const int count = static_cast<int>(plane);
    double* const direction = direction_.data();
    std::array<MPI_Request, 4> requests{};
    MPI_Irecv(direction, count, MPI_DOUBLE, below, upward, comm_, &requests[0]);
    MPI_Irecv(direction + plane + cells_.cells(), count, MPI_DOUBLE, above, downward, comm_, &requests[1]);
    MPI_Isend(direction + plane, count, MPI_DOUBLE, below, downward, comm_, &requests[2]);
    MPI_Isend(direction + cells_.cells(), count, MPI_DOUBLE, above, upward, comm_, &requests[3]);
    matrix_.multiply(direction_, image_, {plane, last});
    MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
    matrix_.multiply(direction_, image_, {0, plane});
    matrix_.multiply(direction_, image_, {last, cells_.cells()});
  }

  MPI_Comm comm_;
  int rank_;
  int ranks_;
  box cells_;
  range all_;
  weft_hpccg::matrix matrix_;
  std::vector<double> direction_;  // with the nearest planes of both neighbours
  std::vector<double> solution_;
  std::vector<double> residual_;
  std::vector<double> image_;  // of the direction
};

}  // namespace

solve_result solve(MPI_Comm comm, const box& cells) { return solver{comm, cells}.run(); }

}  // namespace mpi_hpccg
