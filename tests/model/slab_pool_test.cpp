// SPDX-License-Identifier: BSD-3-Clause
// The pool that grows under the explorer: two threads never have one element, a taken element carries its bytes, and
// slabs that threads take at one moment are all kept.
#include "core/memory/slab_pool.hpp"

#include <gtest/gtest.h>

#include <array>
#include <iostream>

#include "model/atomics.hpp"
#include "model/kept.hpp"
#include "model/planting.hpp"

namespace {

using namespace weft::model;
using weft::core::pool_bounds;
using weft::core::pool_end;
using weft::core::state_budget;

struct element {
  weft::core::basic_pooled<model_atomics> pooled;
  std::uint64_t bytes = 0;

  // Only the thread that has taken the element may touch its bytes.
  void use(std::uint64_t value) {
    std::uint64_t before = 0;
    model_atomics::read_nonatomic(&before, &bytes, sizeof before);
    model_atomics::write_nonatomic(&bytes, &value, sizeof value);
  }
};

constexpr std::uint32_t slab_elements = 1;
using pool = weft::core::basic_slab_pool<element, model_atomics, slab_elements>;

struct bounded_pool {
  explicit bounded_pool(std::uint32_t at_first, std::uint32_t most)
      : budget{std::uint64_t{most} * sizeof(element)}, elements{pool_bounds{at_first, most}, budget} {}
  state_budget budget;
  pool elements;
};
using kept_pool = kept_until_the_end<bounded_pool>;

class model_slab_pool : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_explore()) GTEST_SKIP() << "ThreadSanitizer does not know the explorer's contexts";
  }
};

element* take(pool& from) {
  pool_end why = pool_end::none;
  return from.try_take(why);
}

// Takes all that are free, and looks whether they are all that there are.
void check_all_free(pool& of) {
  std::array<element*, 8> all{};
  std::uint32_t count = 0;
  for (element* each = take(of); each != nullptr; each = take(of)) {
    check(count < all.size(), "more elements than there can be");
    for (std::uint32_t i = 0; i < count; ++i) check(all[i] != each, "an element twice");
    check(of.find(each->pooled.index) == each, "an element under another index");
    all[count++] = each;
  }
  check(count == of.most(), "an element is lost");
}

void take_use_and_put_back() {
  const kept_pool kept{1U, 3U};
  pool& all = kept.object->elements;
  const auto work = [&](std::uint64_t thread, int rounds) {
    for (int i = 0; i < rounds; ++i) {
      element* const mine = take(all);
      check(mine != nullptr, "empty with an element for each thread");
      mine->use(thread);
      all.put(*mine);
    }
  };
  threads([&] { work(1, 2); }, [&] { work(2, 2); }, [&] { work(3, 1); });
  check_all_free(all);
}

// Both find nothing free, and take a slab each; or the bound is in the way of one.
void grow_in_two_threads() {
  const kept_pool kept{0U, 2U};
  pool& all = kept.object->elements;
  const auto work = [&](std::uint64_t thread) {
    element* const mine = take(all);
    check(mine != nullptr, "no slab, though each thread may have one");
    mine->use(thread);
    element* const found = all.find(mine->pooled.index);
    check(found == mine, "a slab under another number");
    all.put(*mine);
  };
  threads([&] { work(1); }, [&] { work(2); });
  check_all_free(all);
}

// A message names an element by its index while a slab is added.
void find_while_one_is_added() {
  const kept_pool kept{0U, 2U};
  pool& all = kept.object->elements;
  threads([&] { check(take(all) != nullptr, "no slab"); },
          [&] {
            element* const found = all.find(0);
            if (found == nullptr) return;
            check(found->pooled.index == 0, "an element that is not constructed");
            check(found->pooled.below.load(std::memory_order_relaxed) <= 2, "a link of nothing");  // [hint]
          });
}

// Two are taken and put back in the other order while a third thread is between its look and its exchange.
void swap_under_a_look() {
  const kept_pool kept{3U, 3U};
  pool& all = kept.object->elements;
  threads(
      [&] {
        element* const first = take(all);
        element* const second = take(all);
        check(first != nullptr && second != nullptr && first != second, "an element twice, or none");
        first->use(1);
        second->use(1);
        all.put(*first);
      },
      [&] {
        element* const mine = take(all);
        check(mine != nullptr, "empty with an element for each thread");
        mine->use(2);
      });
}

// One thread takes and puts back several together while others do so one by one, and slabs are added.
void many_at_once() {
  const kept_pool kept{2U, 3U};
  pool& all = kept.object->elements;
  const auto one_by_one = [&](std::uint64_t thread) {
    element* const mine = take(all);
    if (mine == nullptr) return;
    mine->use(thread);
    all.put(*mine);
  };
  const auto many = [&](std::uint64_t thread) {
    element* taken[2];
    pool_end why = pool_end::none;
    const std::uint32_t count = all.take_many(taken, 2, why);
    check(count <= 2 && (count != 0 || why != pool_end::none), "more than there is room for, or none for no reason");
    for (std::uint32_t i = 0; i < count; ++i) taken[i]->use(thread);
    all.put_many(taken, count);
  };
  threads([&] { many(1); }, [&] { one_by_one(2); }, [&] { many(3); });
  check_all_free(all);
}

const search brief{.executions_max = 20000, .random_executions_max = 10000, .deviations_max = 4};

TEST_F(model_slab_pool, holds_and_no_planted_bug_goes_unnoticed) {
  const std::vector<program> programs{{"take, use and put back", take_use_and_put_back, brief},
                                      {"grow in two threads", grow_in_two_threads, brief},
                                      {"find while one is added", find_while_one_is_added, brief},
                                      {"swap under a look", swap_under_a_look, brief},
                                      {"many at once", many_at_once, brief}};
  const std::vector<harmless> tolerated{
      {"slab.number#2", bug::tear, "a number that is too small costs a look more, until the next slab"}};
  const planting_report report = plant_bugs(programs, {"/slab_pool.hpp"}, tolerated);
  std::cout << report;
  EXPECT_TRUE(report.right) << report;
}

}  // namespace
