// SPDX-License-Identifier: BSD-3-Clause
// Each algorithm that moves blocks or scans, against the oracle, for random arguments: blocks of different sizes with
// gaps between them and in any order, in place or not, empty ones, 1 to 33 ranks on one node or several.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>

#include "coll/algorithms/table.hpp"
#include "coll/bytes.hpp"
#include "coll/some_nodes.hpp"
#include "support/random_seed.hpp"

namespace weft::coll {
namespace {

constexpr int cases_of_each = weft::test::under_sanitizer ? 60 : 400;

// Memory of a block list.
struct owned_list {
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint64_t> offsets;

  [[nodiscard]] block_list view() const { return {bytes, offsets}; }
};

// The arguments of all ranks, and their lists.
struct random_args {
  std::vector<collective_args> all;
  std::vector<owned_list> in;
  std::vector<owned_list> out;
  std::shared_ptr<node_map> nodes;
};

std::uint64_t below(std::mt19937& random, std::uint64_t end) { return random() % end; }

// Lays the blocks out in a random order, with gaps in some lists.
owned_list lay_out(const std::vector<std::uint64_t>& bytes, std::mt19937& random) {
  owned_list out{bytes, std::vector<std::uint64_t>(bytes.size())};
  std::vector<std::size_t> order(bytes.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2 == 0) std::ranges::shuffle(order, random);
  const std::uint64_t gap_end = 1 + below(random, 4);
  std::uint64_t at = below(random, gap_end);
  for (const std::size_t each : order) {
    out.offsets[each] = at;
    at += bytes[each] + below(random, gap_end);
  }
  return out;
}

std::vector<std::uint64_t> random_sizes(std::uint32_t count, std::mt19937& random) {
  const std::uint64_t end = 1 + below(random, 40);
  const bool are_sparse = random() % 3 == 0;
  std::vector<std::uint64_t> out(count);
  for (std::uint64_t& each : out) each = are_sparse && random() % 4 != 0 ? 0 : below(random, end);
  return out;
}

// Gather and scatter: lists of all ranks, or of the root alone.
void give_root_a_list(random_args& to, bool is_gather, std::mt19937& random) {
  const std::vector<std::uint64_t> sizes = random_sizes(to.all[0].size, random);
  const bool root_alone = random() % 2 == 0;
  for (collective_args& each : to.all) {
    each.root_has_list = true;
    if (root_alone && each.rank != each.root) {
      each.block_bytes = sizes[each.rank];
      continue;
    }
    owned_list& list = (is_gather ? to.out : to.in)[each.rank];
    list = lay_out(sizes, random);
    (is_gather ? each.out_blocks : each.in_blocks) = list.view();
  }
}

void give_lists_for_allgather(random_args& to, std::mt19937& random) {
  const std::vector<std::uint64_t> sizes = random_sizes(to.all[0].size, random);
  for (collective_args& each : to.all) {
    to.out[each.rank] = lay_out(sizes, random);
    each.out_blocks = to.out[each.rank].view();
  }
}

// In place, two ranks have blocks of one size for each other.
void give_lists_for_alltoall(random_args& to, std::mt19937& random) {
  const std::uint32_t size = to.all[0].size;
  std::vector<std::vector<std::uint64_t>> sent(size);
  for (auto& each : sent) each = random_sizes(size, random);
  for (std::uint32_t from = 0; to.all[0].is_inplace && from < size; ++from)
    for (std::uint32_t rank = 0; rank < from; ++rank) sent[from][rank] = sent[rank][from];
  for (collective_args& each : to.all) {
    std::vector<std::uint64_t> received(size);
    for (std::uint32_t from = 0; from < size; ++from) received[from] = sent[from][each.rank];
    to.in[each.rank] = lay_out(sent[each.rank], random);
    to.out[each.rank] = lay_out(received, random);
    if (!each.is_inplace) each.in_blocks = to.in[each.rank].view();
    each.out_blocks = to.out[each.rank].view();
  }
}

random_args draw_args(operation which, std::mt19937& random) {
  collective_args args{.operation = which, .element_bytes = 8};
  args.size = 1 + static_cast<std::uint32_t>(below(random, random() % 8 == 0 ? 33 : 9));
  args.root = static_cast<std::uint32_t>(below(random, args.size));
  args.block_bytes = below(random, 10) * 8;
  args.is_commutative = random() % 2 == 0;
  args.is_inplace = random() % 2 == 0;
  const auto nodes = std::make_shared<node_map>(test::random_nodes(args.size, random));
  args.nodes = nodes.get();
  random_args out{std::vector<collective_args>(args.size, args), std::vector<owned_list>(args.size),
                  std::vector<owned_list>(args.size), nodes};
  for (std::uint32_t rank = 0; rank < args.size; ++rank) {
    out.all[rank].rank = rank;
    // Of alltoall alone all ranks have to agree.
    if (which != operation::alltoall) out.all[rank].is_inplace = random() % 2 == 0;
  }
  if (random() % 2 == 0) return out;
  if (which == operation::gather || which == operation::scatter) {
    give_root_a_list(out, which == operation::gather, random);
  } else if (which == operation::allgather) {
    give_lists_for_allgather(out, random);
  } else if (which == operation::alltoall) {
    give_lists_for_alltoall(out, random);
  }
  return out;
}

bool is_tried(operation which) {
  return which == operation::gather || which == operation::scatter || which == operation::allgather ||
         which == operation::alltoall || which == operation::scan || which == operation::exscan;
}

std::vector<algorithm> algorithms_to_try() {
  std::vector<algorithm> out;
  for (const algorithm& each : algorithms())
    if (is_tried(each.operation)) out.push_back(each);
  return out;
}

std::string name_of_tried(const testing::TestParamInfo<algorithm>& info) {
  std::string out = std::string{name_of(info.param.operation)} + '_' + std::string{info.param.name};
  std::ranges::replace(out, '-', '_');
  return out;
}

class coll_random_arguments : public testing::TestWithParam<algorithm> {};

TEST_P(coll_random_arguments, give_what_the_oracle_gives) {
  const algorithm& tried = GetParam();
  std::mt19937 random{static_cast<std::mt19937::result_type>(weft::test::random_seed())};
  for (int left = cases_of_each; left != 0;) {
    const random_args drawn = draw_args(tried.operation, random);
    const auto can = [&](const collective_args& mine) { return tried.can(mine); };
    const auto able = std::ranges::count_if(drawn.all, can);
    ASSERT_TRUE(able == 0 || able == static_cast<std::ptrdiff_t>(drawn.all.size())) << "ranks disagree whether it can";
    if (able == 0) continue;
    --left;
    const collective_args& args = drawn.all[0];
    ASSERT_EQ(test::check(tried, drawn.all, random), "")
        << args.size << " ranks, root " << args.root << ", " << args.block_bytes
        << " bytes, in place: " << args.is_inplace << ", root has a list: " << args.root_has_list
        << ", lists: " << !args.in_blocks.bytes.empty() << !args.out_blocks.bytes.empty();
  }
}

INSTANTIATE_TEST_SUITE_P(all, coll_random_arguments, testing::ValuesIn(algorithms_to_try()), name_of_tried);

}  // namespace
}  // namespace weft::coll
