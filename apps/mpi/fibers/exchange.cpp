// SPDX-License-Identifier: BSD-3-Clause
#include "exchange.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "weft/fiber.hpp"
#include "weft/mpi.hpp"

namespace mpi_fibers {
namespace {

// What the fibers of one rank do.
class partners {
 public:
  explicit partners(int rank) : rank_{rank}, peer_{1 - rank} {}

  void talk(int tag) { rank_ == 0 ? lead(tag) : follow(tag); }
  // relaxed: nothing but the wish to stop.
  void stop() noexcept { is_over_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_.load(std::memory_order_relaxed); }  // [stat]
  [[nodiscard]] std::uint64_t wrong() const noexcept { return wrong_.load(std::memory_order_relaxed); }        // [stat]

 private:
  // Sends, waits for the answer, and says with its last message that it is the last one.
  void lead(int tag) {
    std::uint64_t round = 0;
    std::uint64_t bad = 0;
    for (std::uint64_t is_last = 0; is_last == 0; ++round) {
      // relaxed: nothing but the wish to stop.
      is_last = is_over_.load(std::memory_order_relaxed) ? 1 : 0;
      const std::uint64_t sent = (round << 32 | static_cast<std::uint32_t>(tag)) << 1 | is_last;
      std::uint64_t back = 0;
      MPI_Send(&sent, 1, MPI_UINT64_T, peer_, tag, MPI_COMM_WORLD);
      MPI_Recv(&back, 1, MPI_UINT64_T, peer_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      bad += back != ~sent ? 1 : 0;
    }
    messages_.fetch_add(2 * round, std::memory_order_relaxed);  // [stat]
    wrong_.fetch_add(bad, std::memory_order_relaxed);           // [stat]
  }
  void follow(int tag) {
    for (bool is_last = false; !is_last;) {
      std::uint64_t word = 0;
      MPI_Recv(&word, 1, MPI_UINT64_T, peer_, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      is_last = (word & 1) != 0;
      word = ~word;
      MPI_Send(&word, 1, MPI_UINT64_T, peer_, tag, MPI_COMM_WORLD);
    }
  }

  int rank_;
  int peer_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> messages_{0};
  std::atomic<std::uint64_t> wrong_{0};
};

}  // namespace

exchange_result exchange(const exchange_options& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const weft::mpi_communicator world = weft::describe_communicator(MPI_COMM_WORLD);
  std::array<weft::device*, 1> served{world.device};
  partners work{rank};
  weft::fiber_scheduler scheduler{{.workers = options.workers,
                                   .fibers_per_worker = options.fibers,
                                   .stack_bytes = 16384,
                                   .guarded_stacks = 64,
                                   .devices = served}};
  std::vector<weft::fiber> all;
  all.reserve(options.fibers);
  MPI_Barrier(MPI_COMM_WORLD);
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t i = 0; i < options.fibers; ++i)
    all.push_back(scheduler.spawn([&work, i] { work.talk(static_cast<int>(i)); }));
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  work.stop();
  for (weft::fiber& each : all) each.join();
  const double spent = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) return {};
  return {
      .message_ns = spent / static_cast<double>(work.messages()), .messages = work.messages(), .wrong = work.wrong()};
}

}  // namespace mpi_fibers
