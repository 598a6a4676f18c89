// SPDX-License-Identifier: BSD-3-Clause
// Events of completion by queries (zhou2024, 4.5): a hook asks all pending receives, and acts on one that is complete.
#include <algorithm>
#include <random>
#include <vector>

#include "measure.hpp"

namespace mpi_async {

namespace {

// Receives of this rank's own messages, each of which is posted again when its message is there.
class pending_receives {
 public:
  explicit pending_receives(int count)
      : requests_(static_cast<std::size_t>(count), MPI_REQUEST_NULL), values_(requests_.size(), -1) {
    MPI_Comm_dup(MPI_COMM_SELF, &comm_);
    for (std::size_t number = 0; number < requests_.size(); ++number) post(number);
  }
  // The hook has ended.
  ~pending_receives() {
    for (MPI_Request& each : requests_) MPI_Cancel(&each);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    MPI_Comm_free(&comm_);
  }
  pending_receives(const pending_receives&) = delete;
  pending_receives& operator=(const pending_receives&) = delete;

  // Sends the message of one receive, and makes progress until the hook has seen it.
  void send(std::size_t number, lateness& out) {
    expected_ = number;
    message_ = ++value_;
    events_ = 0;
    MPI_Request sent = MPI_REQUEST_NULL;
    sent_at_ = MPI_Wtime();
    MPI_Isend(&message_, 1, MPI_INT, 0, static_cast<int>(number), comm_, &sent);
    while (events_ == 0) MPIX_Stream_progress(MPIX_STREAM_NULL);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    ++out.ended;
    if (events_ != 1 || is_wrong_) ++out.wrong;
    is_wrong_ = false;
    out.add((noticed_ - sent_at_) * 1e9);
  }

  // The time of one query, in ns: the loop of the hook, while nothing is complete.
  [[nodiscard]] double time_query(double seconds) const {
    std::uint64_t queries = 0;
    const double begin = MPI_Wtime();
    double now = begin;
    do {
      const std::size_t loops = 1 + 64 / requests_.size();
      for (std::size_t loop = 0; loop < loops; ++loop) count_complete_ += count_complete();
      queries += loops * requests_.size();
      now = MPI_Wtime();
    } while (now < begin + seconds);
    return (now - begin) * 1e9 / static_cast<double>(queries);
  }
  [[nodiscard]] bool has_complete() const noexcept { return count_complete_ != 0; }

  void end() {
    is_over_ = true;
    while (is_over_) MPIX_Stream_progress(MPIX_STREAM_NULL);
  }

  static int poll(MPIX_Async_thing thing) {
    return static_cast<pending_receives*>(MPIX_Async_get_state(thing))->ask_all();
  }

 private:
  void post(std::size_t number) {
    MPI_Irecv(&values_[number], 1, MPI_INT, 0, static_cast<int>(number), comm_, &requests_[number]);
  }
  [[nodiscard]] std::uint64_t count_complete() const {
    std::uint64_t out = 0;
    for (MPI_Request each : requests_) out += MPIX_Request_is_complete(each) != 0 ? 1 : 0;
    return out;
  }
  int ask_all() {
    for (std::size_t number = 0; number < requests_.size(); ++number) {
      if (!MPIX_Request_is_complete(requests_[number])) continue;
      noticed_ = MPI_Wtime();
      ++events_;
      is_wrong_ |= number != expected_ || values_[number] != value_;
      MPI_Request_free(&requests_[number]);
      post(number);
    }
    if (!is_over_) return MPIX_ASYNC_NOPROGRESS;
    is_over_ = false;
    return MPIX_ASYNC_DONE;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<int> values_;
  int value_ = 0;
  int message_ = 0;
  std::size_t expected_ = 0;
  int events_ = 0;
  bool is_wrong_ = false;
  bool is_over_ = false;
  double sent_at_ = 0;
  double noticed_ = 0;
  mutable std::uint64_t count_complete_ = 0;
};

}  // namespace

result measure_queries(const point& chosen) {
  result out;
  pending_receives receives{chosen.tasks};
  out.query_ns = receives.time_query(chosen.seconds / 4);
  if (receives.has_complete()) ++out.late.wrong;
  MPIX_Async_start(&pending_receives::poll, &receives, MPIX_STREAM_NULL);
  std::minstd_rand random;
  std::uniform_int_distribution<std::size_t> any{0, static_cast<std::size_t>(chosen.tasks) - 1};
  const double until = MPI_Wtime() + chosen.seconds * 3 / 4;
  do {
    receives.send(any(random), out.late);
  } while (MPI_Wtime() < until);
  receives.end();
  return out;
}

}  // namespace mpi_async
