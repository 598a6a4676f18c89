// SPDX-License-Identifier: BSD-3-Clause
// The sum of one integer over all ranks by recursive doubling, whose steps a hook makes (zhou2024, Listing 8), and
// MPI_Iallreduce beside it.
#include <algorithm>
#include <vector>

#include "measure.hpp"

namespace mpi_async {

namespace {

constexpr int tag = 1;
constexpr int calls_of_round = 50;

// The allreduce of the program; one at a time.
class hook_allreduce {
 public:
  explicit hook_allreduce(MPI_Comm comm) : comm_{comm} {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }

  // Blocking: until the sum is in `value`.
  void run(int& value) {
    value_ = &value;
    mask_ = 1;
    is_over_ = false;
    MPIX_Async_start(&poll, this, MPIX_STREAM_NULL);
    while (!is_over_) MPIX_Stream_progress(MPIX_STREAM_NULL);
  }

 private:
  static int poll(MPIX_Async_thing thing) { return static_cast<hook_allreduce*>(MPIX_Async_get_state(thing))->step(); }

  int step() {
    for (MPI_Request& each : requests_) {
      if (each == MPI_REQUEST_NULL) continue;
      if (!MPIX_Request_is_complete(each)) return MPIX_ASYNC_NOPROGRESS;
      MPI_Request_free(&each);
    }
    if (mask_ > 1) *value_ += received_;
    if (mask_ == ranks_) {
      is_over_ = true;
      return MPIX_ASYNC_DONE;
    }
    const int peer = rank_ ^ mask_;
    MPI_Irecv(&received_, 1, MPI_INT, peer, tag, comm_, &requests_[0]);
    MPI_Isend(value_, 1, MPI_INT, peer, tag, comm_, &requests_[1]);
    mask_ *= 2;
    return MPIX_ASYNC_NOPROGRESS;
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 0;
  int* value_ = nullptr;
  int received_ = 0;
  int mask_ = 1;
  bool is_over_ = false;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

// A round of calls: their mean time in ns at this rank. `sum` is one call.
template <class Sum>
double time_round(MPI_Comm comm, int round, lateness& out, Sum&& sum) {
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  for (int call = 0; call < calls_of_round; ++call) {
    int value = rank + call + round;
    sum(value);
    if (value != ranks * (ranks - 1) / 2 + ranks * (call + round)) ++out.wrong;
  }
  const double seconds = MPI_Wtime() - begin;
  out.ended += calls_of_round;
  return seconds * 1e9 / calls_of_round;
}

// Of the rank that took longest in each round, the median round.
double median_of_slowest(MPI_Comm comm, std::vector<double> rounds) {
  std::vector<double> slowest(rounds.size());
  MPI_Allreduce(rounds.data(), slowest.data(), static_cast<int>(rounds.size()), MPI_DOUBLE, MPI_MAX, comm);
  const auto middle = slowest.begin() + static_cast<std::ptrdiff_t>(slowest.size() / 2);
  std::nth_element(slowest.begin(), middle, slowest.end());
  return *middle;
}

}  // namespace

result measure_allreduce(const point& chosen) {
  result out;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  hook_allreduce own{comm};
  const auto by_hooks = [&own](int& value) { own.run(value); };
  const auto by_library = [comm](int& value) {
    MPI_Request request = MPI_REQUEST_NULL;
    int sum = 0;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    value = sum;
  };
  // All ranks make the same number of rounds, which alternate.
  const double first = time_round(comm, 0, out.late, by_hooks) + time_round(comm, 0, out.late, by_library);
  const double pair = median_of_slowest(comm, {first}) * calls_of_round * 1e-9;
  const int rounds = static_cast<int>(std::clamp(chosen.seconds / pair, 3.0, 10'000.0));
  std::vector<double> own_ns, library_ns;
  for (int round = 1; round <= rounds; ++round) {
    own_ns.push_back(time_round(comm, round, out.late, by_hooks));
    library_ns.push_back(time_round(comm, round, out.late, by_library));
  }
  out.own_ns = median_of_slowest(comm, own_ns);
  out.library_ns = median_of_slowest(comm, library_ns);
  std::uint64_t wrong = 0;
  MPI_Allreduce(&out.late.wrong, &wrong, 1, MPI_UINT64_T, MPI_SUM, comm);
  out.late.wrong = wrong;
  MPI_Comm_free(&comm);
  return out;
}

}  // namespace mpi_async
