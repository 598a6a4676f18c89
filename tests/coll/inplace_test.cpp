// SPDX-License-Identifier: BSD-3-Clause
// `{}` means in place, and a buffer of no bytes does not: in each form, with lists of blocks and without, also where
// members compare their calls.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using words = std::vector<std::uint64_t>;

enum class form : std::uint8_t { run, post, keep, await, node };
constexpr std::array forms{form::run, form::post, form::keep, form::await, form::node};

task<void> awaited(run_loop& loop, group all, const collective which, errc& end) {
  const completion_record record = co_await which.await(loop, all);
  end = record.error();
}

// Returns the end of `which` at this member; the error of a start is an end, too.
errc end_in_form(form call_form, const collective& which, group& all) {
  try {
    switch (call_form) {
      case form::run: which.run(all); return errc::none;
      case form::keep: {
        persistent_collective kept = which.keep(all);
        kept.run();
        kept.run();
        return errc::none;
      }
      case form::await: {
        run_loop loop{all.device()};
        errc end = errc::none;
        loop.spawn(awaited(loop, all, which, end));
        loop.run();
        return end;
      }
      case form::post:
      case form::node: break;
    }
    synchronizer end{all.device().runtime()};
    graph single{all.device()};
    if (call_form == form::post) {
      static_cast<void>(which.post(all, end));
    } else {
      single.add_post([&](completion& local) { return which.post(all, local); });
      single.start(end);
    }
    if (!test::eventually(all.device(), [&] { return end.is_ready(); })) return errc::transport_failed;
    return end.take()->error();
  } catch (const error& thrown) {
    return thrown.code();
  }
}

// Lists of an alltoall of words: a word from each member but 0 to each.
struct word_lists {
  words sent, sent_at, received, received_at;

  explicit word_lists(const group& all) {
    for (std::uint32_t member = 0; member < all.size(); ++member) {
      sent.push_back(all.rank() != 0 ? 8 : 0);
      sent_at.push_back(all.rank() != 0 ? member * 8 : 0);
      received.push_back(member != 0 ? 8 : 0);
      received_at.push_back(member * 8);
    }
  }
};

void for_each_job(const std::function<void(group&, form, bool is_checked)>& body) {
  for (const bool is_checked : {false, true}) {
    test::local_job{3, {.check = is_checked}}.run([&](runtime& rt) {
      group all = rt.world();
      for (const form call_form : forms) body(all, call_form, is_checked);
      collective::barrier().run(all);
    });
  }
}

TEST(collectives_inplace, are_none_of_a_member_that_sends_nothing) {
  for_each_job([](group& all, form call_form, bool is_checked) {
    const word_lists lists{all};
    const words in(all.rank() != 0 ? all.size() : 0, all.rank());
    words out(all.size(), 77);
    const std::uint64_t sent_before = all.device().counters().posts.sends.operations;
    const collective which =
        collective::alltoall(in, out, {lists.sent, lists.sent_at}, {lists.received, lists.received_at});
    EXPECT_EQ(end_in_form(call_form, which, all), errc::none);
    EXPECT_EQ(out, (words{77, 1, 2}));
    const std::uint64_t sent = all.device().counters().posts.sends.operations - sent_before;
    if (all.rank() == 0 && !is_checked) {
      EXPECT_EQ(sent, 0U) << "messages that no member receives";
    }
  });
}

// `{}` with a list of sent blocks, all of no bytes: the list decides.
TEST(collectives_inplace, are_none_where_a_list_says_what_is_sent) {
  for_each_job([](group& all, form call_form, bool /*is_checked*/) {
    const word_lists lists{all};
    const words in(all.size(), all.rank());
    words out(all.size(), 77);
    const blocks sent{lists.sent, lists.sent_at}, received{lists.received, lists.received_at};
    EXPECT_EQ(end_in_form(call_form,
                          all.rank() == 0 ? collective::alltoall({}, out, sent, received)
                                          : collective::alltoall(in, out, sent, received),
                          all),
              errc::none);
    EXPECT_EQ(out, (words{77, 1, 2}));
  });
}

TEST(collectives_inplace, may_have_members_without_bytes) {
  for_each_job([](group& all, form call_form, bool /*is_checked*/) {
    const std::uint64_t me = all.rank();
    // Members 1 and 2 exchange a word, member 0 nothing.
    words sizes, offsets;
    for (std::uint32_t member = 0; member < all.size(); ++member) {
      sizes.push_back(me != 0 && member != 0 ? 8 : 0);
      offsets.push_back(me != 0 ? member * 8 : 0);
    }
    words out;
    if (me != 0) out = {100 * me, 100 * me + 1, 100 * me + 2};
    const collective which = collective::alltoall({}, out, {}, {sizes, offsets});
    EXPECT_EQ(end_in_form(call_form, which, all), errc::none);
    // A kept one has run twice, so that words are back.
    const std::uint64_t other = 3 - me;
    if (me != 0) {
      EXPECT_EQ(out[other], call_form == form::keep ? 100 * me + other : 100 * other + me);
    }

    words mine(me == 1 ? 0 : 1, me);  // of an allgather: the block of member 1 is empty
    words gathered(2, 7);
    if (me != 1) gathered[me / 2] = me;
    const words block_sizes{8, 0, 8}, block_offsets{0, 0, 8};
    EXPECT_EQ(end_in_form(call_form, collective::allgather({}, gathered, {block_sizes, block_offsets}), all),
              errc::none);
    EXPECT_EQ(gathered, (words{0, 2}));
    gathered.assign(2, 7);
    EXPECT_EQ(end_in_form(call_form, collective::allgather(mine, gathered, {block_sizes, block_offsets}), all),
              errc::none);
    EXPECT_EQ(gathered, (words{0, 2}));
  });
}

// Nothing at all, in place or not.
TEST(collectives_inplace, may_have_no_bytes) {
  for_each_job([](group& all, form call_form, bool /*is_checked*/) {
    const words none;
    words out;
    const reduction sum = reduction::callable<std::uint64_t>();
    const words zero(all.size());
    const blocks empty{zero, zero};
    for (const bool is_inplace : {false, true}) {
      const collective_input in = is_inplace ? collective_input::inplace() : collective_input{none};
      const collective_output into = is_inplace ? collective_output::inplace() : collective_output{out};
      for (const collective& which :
           {collective::allreduce(in, out, sum), collective::reduce(in, out, sum, 1), collective::scan(in, out, sum),
            collective::exscan(in, out, sum), collective::gather(in, out, 1), collective::scatter(none, into, 1),
            collective::allgather(in, out), collective::alltoall(in, out), collective::reduce_scatter(in, out, sum),
            collective::allgather(in, out, empty), collective::alltoall(in, out, is_inplace ? blocks{} : empty, empty),
            collective::reduce_scatter(in, out, sum, empty)})
        EXPECT_EQ(end_in_form(call_form, which, all), errc::none);
    }
  });
}

TEST(collectives_inplace, are_none_with_an_empty_container) {
  for_each_job([](group& all, form call_form, bool /*is_checked*/) {
    const words none;
    words out(all.size(), 77);
    const reduction sum = reduction::callable<std::uint64_t>();
    const bool is_root = all.rank() == 1;
    const auto refused = [&](const collective& which) {
      EXPECT_EQ(end_in_form(call_form, which, all), errc::invalid_argument);
      EXPECT_EQ(out, words(all.size(), 77));
    };
    words nothing;
    refused(collective::allreduce(none, out));
    refused(collective::allreduce(none, out, sum));
    refused(collective::allreduce(const_buffer_ref{nullptr, 0}, out, sum));
    refused(collective::allreduce(std::span<std::uint64_t>{}, out, reductions::min{}));
    refused(collective::scan(none, out));
    refused(collective::exscan(none, out));
    refused(collective::allgather(none, out));
    refused(collective::alltoall(none, out));
    refused(collective::reduce_scatter(none, out));
    if (is_root) {
      refused(collective::reduce(none, out, std::plus<>{}, 1));
      refused(collective::gather(none, out, 1));
      refused(collective::scatter(out, nothing, 1));
    } else {  // only the root can be in place
      refused(collective::reduce({}, out, std::plus<>{}, 1));
      refused(collective::gather({}, out, 1));
      refused(collective::scatter(out, {}, 1));
    }
  });
}

TEST(collectives_inplace, are_named) {
  test::local_job{3}.run([](runtime& rt) {
    group all = rt.world();
    std::array<std::uint64_t, 1> word{rt.rank() + 1};
    collective::allreduce({}, word).run(all);
    EXPECT_EQ(word[0], 6U);
    collective::allreduce(collective_input::inplace(), word, reduction::callable<std::uint64_t>()).run(all);
    EXPECT_EQ(word[0], 18U);
    EXPECT_TRUE(collective_input{}.is_inplace());
    EXPECT_FALSE(collective_input{const_buffer_ref{}}.is_inplace());
    EXPECT_FALSE((collective_output{nullptr, 0}.is_inplace()));
  });
}

}  // namespace
}  // namespace weft
