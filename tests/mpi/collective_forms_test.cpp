// SPDX-License-Identifier: BSD-3-Clause
// Members that wait in one collective, and others that start it with a request: the library lets them meet, though MPI
// does not ask for that. All members start a persistent one. By the rules for ranks that share cores and by those for
// ranks on cores of their own.
#include <functional>
#include <random>
#include <vector>

#include "mpi/ranks.hpp"
#include "support/random_seed.hpp"

namespace weft::collective_forms {
namespace {

using test::numbers_of_rank;
using words = std::vector<std::uint64_t>;

// One collective in its three forms.
struct calls {
  std::function<int()> wait;
  std::function<int(MPI_Request*)> start;
  std::function<int(MPI_Request*)> keep;
};

// What all ranks know of a collective of `count` words a block.
struct drawn_collective {
  MPI_Comm comm;
  int rank, size, root, count;

  [[nodiscard]] std::uint64_t value(int member, int block, int i) const {
    return static_cast<std::uint64_t>(1000 * member + 10 * block + i + 1);
  }
  // What `member` gives, so many blocks.
  [[nodiscard]] words given(int member, int blocks = 1) const {
    words out;
    for (int block = 0; block < blocks; ++block)
      for (int i = 0; i < count; ++i) out.push_back(value(member, block, i));
    return out;
  }
  // The sums over members `first` to `last` of one of their blocks.
  [[nodiscard]] words sum(int first, int last, int block = 0) const {
    words out(static_cast<std::size_t>(count));
    for (int member = first; member <= last; ++member)
      for (int i = 0; i < count; ++i) out[static_cast<std::size_t>(i)] += value(member, block, i);
    return out;
  }
  // Block `which` of each member, or block 0 of each.
  [[nodiscard]] words of_all(int which, int blocks) const {
    words out;
    for (int member = 0; member < size; ++member) {
      const words all = given(member, blocks);
      out.insert(out.end(), all.begin() + which * count, all.begin() + (which + 1) * count);
    }
    return out;
  }
};

struct trial {
  words in, out, wanted;  // of `out` at its begin
  calls forms;
};

void barrier(const drawn_collective& of, trial& out) {
  out.forms = {[=] { return MPI_Barrier(of.comm); }, [=](MPI_Request* one) { return MPI_Ibarrier(of.comm, one); },
               [=](MPI_Request* one) { return MPI_Barrier_init(of.comm, MPI_INFO_NULL, one); }};
}

void broadcast(const drawn_collective& of, trial& out) {
  if (of.rank == of.root) out.out = of.given(of.root);
  out.out.resize(static_cast<std::size_t>(of.count));
  out.wanted = of.given(of.root);
  void* const at = out.out.data();
  out.forms = {[=] { return MPI_Bcast(at, of.count, MPI_UINT64_T, of.root, of.comm); },
               [=](MPI_Request* one) { return MPI_Ibcast(at, of.count, MPI_UINT64_T, of.root, of.comm, one); },
               [=](MPI_Request* one) {
                 return MPI_Bcast_init(at, of.count, MPI_UINT64_T, of.root, of.comm, MPI_INFO_NULL, one);
               }};
}

void reduce(const drawn_collective& of, trial& out) {
  out.in = of.given(of.rank);
  out.out.resize(out.in.size());
  if (of.rank == of.root) out.wanted = of.sum(0, of.size - 1);
  const void* const in = out.in.data();
  void* const at = out.out.data();
  out.forms = {
      [=] { return MPI_Reduce(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.root, of.comm); },
      [=](MPI_Request* one) { return MPI_Ireduce(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.root, of.comm, one); },
      [=](MPI_Request* one) {
        return MPI_Reduce_init(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.root, of.comm, MPI_INFO_NULL, one);
      }};
}

// Allreduce, scan and exscan, whose arguments are alike; some members of an allreduce in place.
template <class Wait, class Start, class Keep>
void combine(const drawn_collective& of, trial& out, bool is_inplace, Wait wait, Start start, Keep keep) {
  out.in = of.given(of.rank);
  out.out = is_inplace ? out.in : words(out.in.size());
  const void* const in = is_inplace ? MPI_IN_PLACE : out.in.data();
  void* const at = out.out.data();
  out.forms = {
      [=] { return wait(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm); },
      [=](MPI_Request* one) { return start(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm, one); },
      [=](MPI_Request* one) { return keep(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm, MPI_INFO_NULL, one); }};
}

void allreduce(const drawn_collective& of, trial& out) {
  out.wanted = of.sum(0, of.size - 1);
  combine(of, out, (of.rank + of.count) % 3 == 0, MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init);
}
void scan(const drawn_collective& of, trial& out) {
  out.wanted = of.sum(0, of.rank);
  combine(of, out, false, MPI_Scan, MPI_Iscan, MPI_Scan_init);
}
void exscan(const drawn_collective& of, trial& out) {
  if (of.rank != 0) out.wanted = of.sum(0, of.rank - 1);
  combine(of, out, false, MPI_Exscan, MPI_Iexscan, MPI_Exscan_init);
}
void reduce_scatter_block(const drawn_collective& of, trial& out) {
  out.wanted = of.sum(0, of.size - 1, of.rank);
  out.in = of.given(of.rank, of.size);
  out.out.resize(out.wanted.size());
  const void* const in = out.in.data();
  void* const at = out.out.data();
  out.forms = {[=] { return MPI_Reduce_scatter_block(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm); },
               [=](MPI_Request* one) {
                 return MPI_Ireduce_scatter_block(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm, one);
               },
               [=](MPI_Request* one) {
                 return MPI_Reduce_scatter_block_init(in, at, of.count, MPI_UINT64_T, MPI_SUM, of.comm, MPI_INFO_NULL,
                                                      one);
               }};
}

// Gather and scatter.
template <class Wait, class Start, class Keep>
void with_root(const drawn_collective& of, trial& out, Wait wait, Start start, Keep keep) {
  const void* const in = out.in.data();
  void* const at = out.out.data();
  const MPI_Datatype type = MPI_UINT64_T;
  out.forms = {[=] { return wait(in, of.count, type, at, of.count, type, of.root, of.comm); },
               [=](MPI_Request* one) { return start(in, of.count, type, at, of.count, type, of.root, of.comm, one); },
               [=](MPI_Request* one) {
                 return keep(in, of.count, type, at, of.count, type, of.root, of.comm, MPI_INFO_NULL, one);
               }};
}

void gather(const drawn_collective& of, trial& out) {
  out.in = of.given(of.rank);
  if (of.rank == of.root) out.wanted = of.of_all(0, 1);
  out.out.resize(out.wanted.size());
  with_root(of, out, MPI_Gather, MPI_Igather, MPI_Gather_init);
}
void scatter(const drawn_collective& of, trial& out) {
  if (of.rank == of.root) out.in = of.given(of.root, of.size);
  const words all = of.given(of.root, of.size);
  out.wanted.assign(all.begin() + of.rank * of.count, all.begin() + (of.rank + 1) * of.count);
  out.out.resize(out.wanted.size());
  with_root(of, out, MPI_Scatter, MPI_Iscatter, MPI_Scatter_init);
}

// Allgather and alltoall.
template <class Wait, class Start, class Keep>
void among_all(const drawn_collective& of, trial& out, Wait wait, Start start, Keep keep) {
  out.out.resize(out.wanted.size());
  const void* const in = out.in.data();
  void* const at = out.out.data();
  const MPI_Datatype type = MPI_UINT64_T;
  out.forms = {
      [=] { return wait(in, of.count, type, at, of.count, type, of.comm); },
      [=](MPI_Request* one) { return start(in, of.count, type, at, of.count, type, of.comm, one); },
      [=](MPI_Request* one) { return keep(in, of.count, type, at, of.count, type, of.comm, MPI_INFO_NULL, one); }};
}

void allgather(const drawn_collective& of, trial& out) {
  out.in = of.given(of.rank);
  out.wanted = of.of_all(0, 1);
  among_all(of, out, MPI_Allgather, MPI_Iallgather, MPI_Allgather_init);
}
void alltoall(const drawn_collective& of, trial& out) {
  out.in = of.given(of.rank, of.size);
  out.wanted = of.of_all(of.rank, of.size);
  among_all(of, out, MPI_Alltoall, MPI_Ialltoall, MPI_Alltoall_init);
}

struct named_operation {
  const char* name;
  void (*make)(const drawn_collective& of, trial& out);
};
constexpr named_operation operations[] = {
    {"barrier", barrier},     {"broadcast", broadcast}, {"reduce", reduce},
    {"allreduce", allreduce}, {"gather", gather},       {"scatter", scatter},
    {"allgather", allgather}, {"alltoall", alltoall},   {"reduce_scatter_block", reduce_scatter_block},
    {"scan", scan},           {"exscan", exscan}};

enum class form { blocking, nonblocking, persistent };

void carry_out(const calls& of, form chosen) {
  if (chosen == form::blocking) {
    EXPECT_EQ(of.wait(), MPI_SUCCESS);
    return;
  }
  MPI_Request one = MPI_REQUEST_NULL;
  EXPECT_EQ(chosen == form::persistent ? of.keep(&one) : of.start(&one), MPI_SUCCESS);
  if (chosen == form::persistent) {
    EXPECT_EQ(MPI_Start(&one), MPI_SUCCESS);
  }
  EXPECT_EQ(MPI_Wait(&one, MPI_STATUS_IGNORE), MPI_SUCCESS);
  if (chosen == form::persistent) {
    EXPECT_EQ(MPI_Request_free(&one), MPI_SUCCESS);
  }
}

void carry_out_each_operation(MPI_Comm comm, numbers_of_rank mine, std::mt19937& random, std::mt19937& own) {
  for (const named_operation& each : operations) {
    const drawn_collective drawn{.comm = comm,
                                 .rank = mine.rank,
                                 .size = mine.size,
                                 .root = static_cast<int>(random() % static_cast<unsigned>(mine.size)),
                                 .count = static_cast<int>(random() % 8)};
    trial one;
    each.make(drawn, one);
    const bool is_persistent = random() % 3 == 0, is_started = own() % 2 == 0;
    const form chosen = is_persistent ? form::persistent : is_started ? form::nonblocking : form::blocking;
    carry_out(one.forms, chosen);
    one.out.resize(one.wanted.size());
    EXPECT_EQ(one.out, one.wanted) << each.name << " of " << drawn.count << " words, root " << drawn.root << ", rank "
                                   << mine.rank << " of " << mine.size << ", form " << static_cast<int>(chosen);
  }
}

TEST(mpi_collective_forms, of_one_collective_may_differ) {
  const std::uint64_t seed = test::random_seed();
  for (std::uint32_t ranks = 1; ranks <= 9; ++ranks) {
    test::run_ranks(ranks, [&](numbers_of_rank mine) {
      std::mt19937 random{static_cast<std::uint32_t>(seed + ranks)};
      std::mt19937 own{static_cast<std::uint32_t>(seed + ranks + 100 * static_cast<unsigned>(mine.rank + 1))};
      for (const bool is_crowded : {false, true}) {
        runtime& rt = mpi::current_rank()->runtime;
        test::local_job::assume_beyond_processors(rt, is_crowded);
        MPI_Comm comm = MPI_COMM_NULL;
        EXPECT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
        for (int round = 0; round < (test::under_sanitizer ? 1 : 3); ++round)
          carry_out_each_operation(comm, mine, random, own);
        EXPECT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
      }
    });
  }
}

}  // namespace
}  // namespace weft::collective_forms
