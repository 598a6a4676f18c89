// SPDX-License-Identifier: BSD-3-Clause
// Short collectives of two ranks, each by a short body, by the graph that the group keeps, and by a persistent one:
// `scripts/instructions --collectives` counts under callgrind what they cost the rank that comes last, which waits for
// nothing. The other rank has begun before: its messages are in the ring.
#include <chrono>
#include <cstdint>
#include <semaphore>
#include <string_view>
#include <thread>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace {

constexpr int warm_up = 20;  // runs that are kept, first contact
constexpr int counted = 50;

}  // namespace

// Found by these names in callgrind's output.
template <weft::collective_operation Operation>
[[gnu::noinline]] void counted_short(const weft::collective& which, weft::group& in) {
  which.run(in);
}
template <weft::collective_operation Operation>
[[gnu::noinline]] void counted_graph(const weft::collective& which, weft::group& in, std::string_view algorithm) {
  which.run(in, {.algorithm = algorithm});
}
template <weft::collective_operation Operation>
[[gnu::noinline]] void counted_persistent(weft::persistent_collective& which) {
  which.run();
}

namespace {

// Rank 0 begins, and rank 1 after it.
class late_rank {
 public:
  explicit late_rank(weft::runtime& rt) : is_late_{rt.rank() == 1} {}

  template <class Early, class Late>
  void repeat(const Early& early, const Late& late) {
    for (int i = 0; i < warm_up + counted; ++i) {
      if (!is_late_) {
        begun.release();
        early();
        continue;
      }
      begun.acquire();
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
      if (i < warm_up) {
        early();
      } else {
        late();
      }
    }
  }

 private:
  static inline std::counting_semaphore<> begun{0};
  bool is_late_;
};

template <weft::collective_operation Operation>
void count(late_rank& pace, weft::group& all, const weft::collective& which, std::string_view algorithm) {
  pace.repeat([&] { which.run(all); }, [&] { counted_short<Operation>(which, all); });
  pace.repeat([&] { which.run(all, {.algorithm = algorithm}); },
              [&] { counted_graph<Operation>(which, all, algorithm); });
  weft::persistent_collective again = which.keep(all, {.algorithm = algorithm});
  pace.repeat([&] { again.run(); }, [&] { counted_persistent<Operation>(again); });
}

}  // namespace

int main() {
  using operation = weft::collective_operation;
  weft::test::local_job{2}.run([](weft::runtime& rt) {
    weft::group all = rt.world();
    late_rank pace{rt};
    std::uint64_t mine = rt.rank(), sum = 0;
    count<operation::barrier>(pace, all, weft::collective::barrier(), "dissemination");
    count<operation::broadcast>(pace, all, weft::collective::broadcast({&mine, sizeof mine}), "binomial");
    count<operation::allreduce>(pace, all,
                                weft::collective::allreduce({&mine, sizeof mine}, {&sum, sizeof sum},
                                                            weft::reduction::callable<std::uint64_t>()),
                                "recursive-doubling");
    weft::collective::barrier().run(all);
  });
}
