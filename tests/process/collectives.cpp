// SPDX-License-Identifier: BSD-3-Clause
// Barriers, broadcasts, reductions, gathers and exchanges of several sizes, each twice, by the algorithms that the
// rules or WEFT_COLL choose; says how much went through a fabric. by script
#include "weft/collectives.hpp"

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "weft/weft.hpp"

namespace {

using words = std::vector<std::uint64_t>;

std::uint64_t given(std::uint32_t member, std::size_t i) { return (member + 1) * 1000003U + i * 7; }

words given_words(std::uint32_t member, std::size_t count) {
  words out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = given(member, i);
  return out;
}

// Takes the operand of the lower ranks; the result shows which ranks those are.
struct first_of_two {
  std::uint64_t operator()(std::uint64_t first, std::uint64_t /*second*/) const noexcept { return first; }
};

void expect(const char* operation, const words& got, const words& wanted) {
  if (got == wanted) return;
  std::fprintf(stderr, "%s of %zu words is wrong\n", operation, wanted.size());
  std::_Exit(1);
}

// The second time it is kept. The results are the same: what is given is not written, or is the result.
void run_twice(weft::group& all, const weft::collective& which) {
  which.run(all);
  which.run(all);
}

void exchange(weft::group& all, std::size_t count, std::uint32_t root) {
  const std::uint32_t members = all.size();
  const words mine = given_words(all.rank(), count);
  words sums(count), blocks;
  for (std::uint32_t member = 0; member < members; ++member) {
    for (std::size_t i = 0; i < count; ++i) sums[i] += given(member, i);
    const words theirs = given_words(member, count);
    blocks.insert(blocks.end(), theirs.begin(), theirs.end());
  }
  const weft::reduction sum = weft::reduction::callable<std::uint64_t>();
  const weft::reduction first = weft::reduction::callable<std::uint64_t>(first_of_two{}, false);

  words bytes = all.rank() == root ? given_words(root, count) : words(count);
  run_twice(all, weft::collective::broadcast(bytes, root));
  expect("broadcast", bytes, given_words(root, count));

  words out(count);
  run_twice(all, weft::collective::allreduce(mine, out, sum));
  expect("allreduce", out, sums);
  out = mine;
  run_twice(all, weft::collective::allreduce({}, out, first));
  expect("allreduce in order", out, given_words(0, count));

  out.assign(count, 0);
  run_twice(all, weft::collective::reduce(mine, out, sum, root));
  if (all.rank() == root) expect("reduce", out, sums);
  run_twice(all, weft::collective::reduce(mine, out, first, root));
  if (all.rank() == root) expect("reduce in order", out, given_words(0, count));

  words gathered(count * members);
  run_twice(all, weft::collective::allgather(mine, gathered));
  expect("allgather", gathered, blocks);

  words sent;
  for (std::uint32_t member = 0; member < members; ++member) sent.insert(sent.end(), mine.begin(), mine.end());
  run_twice(all, weft::collective::alltoall(sent, gathered));
  expect("alltoall", gathered, blocks);
  run_twice(all, weft::collective::barrier());
}

}  // namespace

int main() {
  weft::runtime rt;
  weft::group all = rt.world();
  for (const std::size_t count : {0, 1, 100, 5000, 40000}) exchange(all, count, all.size() - 1);
  const weft::runtime_counters counted = rt.counters();
  std::printf("rank %u fabric_messages %llu fabric_bytes %llu\n", rt.rank(),
              static_cast<unsigned long long>(counted.fabric_messages),
              static_cast<unsigned long long>(counted.fabric_bytes));
  std::fflush(stdout);
  rt.barrier();
}
