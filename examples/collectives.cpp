// Collectives of a group: a broadcast and an allgather behind it, as one graph that blocks no thread; then an allreduce
// that a coroutine awaits.
#include <cstdio>
#include <vector>

#include <weft/weft.hpp>

namespace {

// Rank 0 says where to begin; each rank computes its own part from that, and gets those of all.
bool exchange_parts(weft::runtime& rt, weft::group& all) {
  std::uint64_t begin = rt.rank() == 0 ? 1000 : 0, mine = 0;
  std::vector<std::uint64_t> parts(all.size());
  weft::graph pipeline{rt.default_device()};
  const auto hear = pipeline.add_post([&](weft::completion& local) {
    return weft::collective::broadcast({&begin, sizeof begin}).post(all, local);
  });
  const auto compute = pipeline.add([&] { mine = begin + 10 * all.rank(); });
  const auto gather = pipeline.add_post([&](weft::completion& local) {
    return weft::collective::allgather({&mine, sizeof mine}, parts).post(all, local);
  });
  pipeline.add_edge(hear, compute);
  pipeline.add_edge(compute, gather);
  weft::synchronizer end{rt};
  pipeline.start(end);
  rt.default_device().wait(end);  // or anything else meanwhile
  bool right = true;
  for (std::uint32_t member = 0; member < all.size(); ++member) right &= parts[member] == 1000 + 10 * member;
  return right;
}

weft::task<void> sum(weft::run_loop& loop, weft::group all, double mine, double& out) {
  const auto end =
      co_await weft::collective::allreduce(std::span<const double>{&mine, 1}, std::span{&out, 1}).await(loop, all);
  if (end.error() != weft::errc::none) std::printf("the sum failed: %s\n", weft::name_of(end.error()));
}

}  // namespace

int main() {
  weft::runtime rt;
  weft::group all = rt.world();
  const bool is_shared = exchange_parts(rt, all);
  double total = 0;
  weft::run_loop loop{rt.default_device()};
  loop.spawn(sum(loop, all, all.rank() + 0.5, total));
  loop.run();
  const double wanted = all.size() * all.size() / 2.0;
  std::printf("rank %u: the parts are %s, the sum is %g\n", rt.rank(), is_shared ? "right" : "wrong", total);
  weft::collective::barrier().run(all);
  return is_shared && total == wanted ? 0 : 1;
}
