// SPDX-License-Identifier: BSD-3-Clause
// One 8-byte message of MPI after another between two ranks, each with its MPI_COMM_WORLD: sent by MPI_Send and
// received by MPI_Recv, then by MPI_Isend, MPI_Irecv and MPI_Wait; without threads, then with MPI_THREAD_MULTIPLE;
// without threads also from any source and of any tag, and in a communicator of the ranks in another order. One thread
// acts as both ranks, so that each look finds the message: it is in the ring before the receive is posted. Run under
// callgrind by scripts/instructions, which adds up what the functions below cost. Ranks have cores of their own:
// callgrind makes a yield so slow that a thread that shares its core believes that others ran, and yields at each
// fourth test.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "mpi.h"
#include "mpi/rank/rank_state.hpp"
#include "weft/test/local_job.hpp"

namespace {

constexpr int warm_up = 1000;  // first contact, lazily touched pages
constexpr int counted = 10'000;
constexpr std::uint64_t looks = 64;  // of the sender, uncounted
constexpr int tested = 1000;
constexpr int pending = 10'000;

// Beside levels of threads: receives from any source and of any tag; and a communicator of the ranks in another order.
constexpr int open_receives = 1, other_order = 2;

// Another one for each form, so that the compiler doesn't make one function of two forms' functions.
constexpr int tag_of(int form) { return 7 + form; }
constexpr int tag_received(int form) { return form == open_receives ? MPI_ANY_TAG : tag_of(form); }
constexpr int source_of(int form) { return form == open_receives ? MPI_ANY_SOURCE : form == other_order ? 1 : 0; }
constexpr int target_of(int form) { return form == other_order ? 0 : 1; }

MPI_Comm in_other_order[2];
template <int Form>
MPI_Comm comm_of(int rank) {
  return Form == other_order ? in_other_order[rank] : MPI_COMM_WORLD;
}

void expect(bool true_here, const char* problem) {
  if (true_here) return;
  std::fprintf(stderr, "mpi_instructions: %s\n", problem);
  std::exit(1);
}

}  // namespace

// Found by these names in callgrind's output: each form has functions of its own.
template <int Form>
[[gnu::noinline]] int counted_send(const std::uint64_t& word) {
  return MPI_Send(&word, 1, MPI_UINT64_T, target_of(Form), tag_of(Form), comm_of<Form>(0));
}
template <int Form>
[[gnu::noinline]] int counted_receive(std::uint64_t& into) {
  return MPI_Recv(&into, 1, MPI_UINT64_T, source_of(Form), tag_received(Form), comm_of<Form>(1), MPI_STATUS_IGNORE);
}
template <int Form>
[[gnu::noinline]] bool counted_started_send(const std::uint64_t& word) {
  MPI_Request request = MPI_REQUEST_NULL;
  return MPI_Isend(&word, 1, MPI_UINT64_T, target_of(Form), tag_of(Form), comm_of<Form>(0), &request) == MPI_SUCCESS &&
         MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}
template <int Form>
[[gnu::noinline]] bool counted_started_receive(std::uint64_t& into) {
  MPI_Request request = MPI_REQUEST_NULL;
  return MPI_Irecv(&into, 1, MPI_UINT64_T, source_of(Form), tag_received(Form), comm_of<Form>(1), &request) ==
             MPI_SUCCESS &&
         MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}
template <int Pending>
[[gnu::noinline]] int counted_test(MPI_Request& request, int& flag) {
  flag = Pending;  // so that the compiler doesn't make one function of both
  return MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
}

namespace {

// Not inlined here, so that the functions above are called from few functions alone.
template <int Form>
[[gnu::noinline]] void warm_send(const std::uint64_t& word) {
  expect(MPI_Send(&word, 1, MPI_UINT64_T, target_of(Form), tag_of(Form), comm_of<Form>(0)) == MPI_SUCCESS,
         "a send failed");
}
template <int Form>
[[gnu::noinline]] void warm_receive(std::uint64_t& into) {
  expect(MPI_Recv(&into, 1, MPI_UINT64_T, source_of(Form), tag_received(Form), comm_of<Form>(1), MPI_STATUS_IGNORE) ==
             MPI_SUCCESS,
         "a receive failed");
}

// A rank that only sends, and never looks for messages, gets its credits back late: it pays some 75 instructions more
// for most of its sends (src/core/matching/order_credits.hpp).
[[gnu::noinline]] void warm_look() {
  int found = 0;
  expect(MPI_Iprobe(1, tag_of(0), MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS && found == 0, "a message");
}

weft::mpi::rank_slot* slots[2];

void be_rank(int rank) { weft::mpi::be_thread_of(slots[rank]); }

template <int Form>
void exchange() {
  std::uint64_t into = 0;
  for (std::uint64_t i = 0; i < warm_up; ++i) {
    be_rank(0);
    warm_send<Form>(i);
    warm_look();
    be_rank(1);
    warm_receive<Form>(into);
  }
  for (std::uint64_t i = 0; i < counted; ++i) {
    be_rank(0);
    if (i % looks == 0) warm_look();
    expect(counted_send<Form>(i) == MPI_SUCCESS, "a send failed");
    be_rank(1);
    expect(counted_receive<Form>(into) == MPI_SUCCESS && into == i, "a message was not received");
  }
  for (std::uint64_t i = 0; i < counted; ++i) {
    be_rank(0);
    if (i % looks == 0) warm_look();
    expect(counted_started_send<Form>(i), "a send failed");
    be_rank(1);
    expect(counted_started_receive<Form>(into) && into == i, "a message was not received");
  }
}

template <int Pending>
void test_one() {
  std::vector<std::uint64_t> into(Pending + 1);
  std::vector<MPI_Request> requests(Pending + 1);
  for (int i = 0; i <= Pending; ++i) {
    expect(MPI_Irecv(&into[i], 1, MPI_UINT64_T, 0, i, MPI_COMM_WORLD, &requests[i]) == MPI_SUCCESS, "no receive");
  }
  int flag = 0;
  for (int i = 0; i < tested; ++i) {
    expect(counted_test<Pending>(requests[Pending], flag) == MPI_SUCCESS && flag == 0, "a test of no message");
  }
  be_rank(0);
  for (int i = 0; i <= Pending; ++i) {
    expect(MPI_Send(&into[i], 1, MPI_UINT64_T, 1, i, MPI_COMM_WORLD) == MPI_SUCCESS, "a send failed");
    be_rank(1);
    expect(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS, "a message was not received");
    be_rank(0);
  }
  be_rank(1);
}

template <int Level>
void run() {
  std::mutex mutex;
  std::condition_variable changed;
  int ready = 0;
  bool is_done = false;
  const weft::runtime_options options{.default_device = {.shared = Level == MPI_THREAD_MULTIPLE}, .bind = true};
  weft::test::local_job{2, options}.run([&](weft::runtime& rt) {
    const auto rank = static_cast<int>(rt.rank());
    weft::mpi::rank_slot mine{.given = &rt};
    slots[rank] = &mine;
    be_rank(rank);
    int provided = 0;
    expect(MPI_Init_thread(nullptr, nullptr, Level, &provided) == MPI_SUCCESS && provided == Level, "no such level");
    expect(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &in_other_order[rank]) == MPI_SUCCESS, "no communicator");
    std::unique_lock locked{mutex};
    ++ready;
    changed.notify_all();
    // The thread of rank 0 acts as both.
    changed.wait(locked, [&] { return rank == 0 ? ready == 2 : is_done; });
    if (rank == 0) {
      exchange<Level>();
      if (Level == MPI_THREAD_SINGLE) {
        exchange<open_receives>();
        exchange<other_order>();
        test_one<0>();
        test_one<pending>();
      }
      be_rank(0);
      is_done = true;
      changed.notify_all();
    }
    locked.unlock();
    expect(MPI_Finalize() == MPI_SUCCESS, "no end");
    weft::mpi::be_thread_of(nullptr);
  });
}

}  // namespace

int main() {
  run<MPI_THREAD_SINGLE>();
  run<MPI_THREAD_MULTIPLE>();
  std::printf("%d\n", counted);
}
