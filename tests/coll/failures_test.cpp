// SPDX-License-Identifier: BSD-3-Clause
// A member whose rank has ended: the collectives of the others end, in every form and by every algorithm, and none ends
// well with a wrong result.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"
#include "core/runtime/runtime_state.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t ranks = 5, gone = 3;
using words = std::vector<std::uint64_t>;

enum class form { blocking, posted, persistent, awaited };

task<void> await_one(run_loop& loop, group all, collective which, std::string_view algorithm, errc& end) {
  const completion_record record = co_await which.await(loop, all, {.algorithm = algorithm});
  end = record.error();
}

errc error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const error& why) {
    return why.code();
  }
  return errc::none;
}

errc end_of(group& all, const collective& which, form how, std::string_view algorithm) {
  switch (how) {
    case form::blocking: return error_of([&] { which.run(all, {.algorithm = algorithm}); });
    case form::persistent: return error_of([&] { which.keep(all, {.algorithm = algorithm}).run(); });
    case form::posted: {
      synchronizer end{all.device().runtime()};
      static_cast<void>(which.post(all, end, {.algorithm = algorithm}));
      EXPECT_TRUE(all.device().wait(end, {.timeout = std::chrono::minutes{1}}));
      if (!end.is_ready()) return errc::none;  // it can be asked
      return end.take()->error();
    }
    case form::awaited: {
      run_loop loop{all.device()};
      errc end = errc::none;
      loop.spawn(await_one(loop, all, which, algorithm, end));
      loop.run();
      return end;
    }
  }
  return errc::none;
}

// The buffers of a collective of `count` words, and its result if all had taken part.
struct one_collective {
  explicit one_collective(collective_operation operation, std::size_t count, std::uint32_t me)
      : in(count * ranks, me + 1), out(count * ranks) {
    const buffer_ref block{out.data(), count * 8};
    const const_buffer_ref own{in.data(), count * 8};
    const reduction sum = reduction::callable<std::uint64_t>();
    const bool is_root = me == 0;
    const buffer_ref nothing;
    switch (operation) {
      case collective_operation::barrier: break;
      case collective_operation::broadcast: which = collective::broadcast(block, gone); break;
      case collective_operation::reduce: which = collective::reduce(own, block, sum); break;
      case collective_operation::allreduce: which = collective::allreduce(own, block, sum); break;
      case collective_operation::gather: which = collective::gather(own, is_root ? buffer_ref{out} : nothing); break;
      case collective_operation::scatter: which = collective::scatter(const_buffer_ref{}, block, gone); break;
      case collective_operation::allgather: which = collective::allgather(own, out); break;
      case collective_operation::alltoall: which = collective::alltoall(in, out); break;
      case collective_operation::reduce_scatter: which = collective::reduce_scatter(in, block, sum); break;
      case collective_operation::scan: which = collective::scan(own, block, sum); break;
      case collective_operation::exscan: which = collective::exscan(own, block, sum); break;
    }
  }
  words in, out;
  collective which = collective::barrier();
};

// Whether the result of member `me` needs the member that is gone.
bool needs_all(collective_operation which, std::uint32_t me) {
  switch (which) {
    case collective_operation::reduce:
    case collective_operation::gather: return me == 0;
    case collective_operation::scan:
    case collective_operation::exscan: return me > gone;
    default: return true;
  }
}

// As when its process ends; it takes no further part.
void declare_ended(runtime& rt) { test::local_job::state_of(rt).peer_ends().note({.rank = gone, .in_order = false}); }

void expect_end(group& all, const coll::algorithm& which, std::size_t count, form how) {
  one_collective one{which.operation, count, all.rank()};
  const errc end = end_of(all, one.which, how, which.name);
  if (!needs_all(which.operation, all.rank())) return;
  const bool is_waited_for = how == form::blocking || how == form::persistent;
  EXPECT_TRUE(end == errc::peer_failed || (!is_waited_for && end == errc::truncated))
      << name_of(which.operation) << ' ' << which.name << " of " << count << " words, member " << all.rank()
      << ", form " << static_cast<int>(how) << ": " << name_of(end);
}

// Each collective takes some looks for ranks that have ended, so each is tried with one size.
TEST(collectives_of_ended_ranks, end_with_errors_by_every_algorithm) {
  for (const form how : {form::blocking, form::posted}) {
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      collective::barrier().run(all);
      if (rt.rank() == gone) return;
      declare_ended(rt);
      std::size_t tried = how == form::posted ? 1 : 0;
      for (const coll::algorithm& each : coll::algorithms()) {
        const std::size_t count = tried++ % 2 == 0 ? 1 : 3000;
        const coll::collective_args args{.operation = each.operation,
                                         .rank = rt.rank(),
                                         .size = ranks,
                                         .block_bytes = count * 8,
                                         .element_bytes = 8};
        if (each.can(args)) expect_end(all, each, count, how);
      }
    });
  }
}

TEST(collectives_of_ended_ranks, without_a_graph_end_with_errors) {
  test::local_job{ranks}.run([](runtime& rt) {
    group all = rt.world();
    collective::barrier().run(all);
    if (rt.rank() == gone) return;
    declare_ended(rt);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(error_of([&] { collective::barrier().run(all); }), errc::peer_failed);
      std::uint64_t mine = 1, sum = 0;
      EXPECT_EQ(error_of([&] {
                  collective::allreduce(std::span{&mine, 1}, std::span{&sum, 1}).run(all);
                }),
                errc::peer_failed);
      EXPECT_EQ(error_of([&] { collective::broadcast(std::span{&mine, 1}, gone).run(all); }), errc::peer_failed);
    }
  });
}

TEST(collectives_of_ended_ranks, that_wait_for_them_end_with_errors) {
  for (const form how : {form::blocking, form::posted, form::persistent, form::awaited}) {
    test::local_job{ranks}.run([&](runtime& rt) {
      group all = rt.world();
      collective::barrier().run(all);
      if (rt.rank() == gone) return;
      words mine(3000, 1), sum(3000);
      std::thread ends{[&rt] {
        for (int i = 0; i < 10; ++i) std::this_thread::yield();
        declare_ended(rt);
      }};
      const errc end = end_of(all, collective::allreduce(mine, sum), how, {});
      ends.join();
      EXPECT_TRUE(end == errc::peer_failed || end == errc::truncated) << name_of(end);
    });
  }
}

}  // namespace
}  // namespace weft
