// SPDX-License-Identifier: BSD-3-Clause
// Sends and receives in engines of each kind, named by the id or by the object: on shared devices and on those of one
// thread's own, of sizes that go each way, whichever side comes first.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::eventually;
using test::post;

enum class engine_kind { by_policy, by_key, ordered, receiver_first };

matching_engine_options options_of(engine_kind kind) {
  matching_engine_options out{.id = 6};
  out.ordered = kind == engine_kind::ordered;
  out.receiver_first = kind == engine_kind::receiver_first;
  if (kind == engine_kind::by_key)
    out.make_key = [](std::uint32_t rank, std::uint64_t tag) noexcept { return tag * 4 + rank; };
  return out;
}

class named_engine : public testing::TestWithParam<std::tuple<engine_kind, bool, bool>> {
 protected:
  [[nodiscard]] static engine_kind kind() { return std::get<0>(GetParam()); }
  [[nodiscard]] static bool is_shared() { return std::get<1>(GetParam()); }
  [[nodiscard]] static engine_ref name_of(const matching_engine& engine) {
    return std::get<2>(GetParam()) ? engine_ref{engine} : engine_ref{engine.id()};
  }
};

// A rank's side of an exchange with the other one.
class side {
 public:
  side(runtime& rt, bool is_shared) : rt_{&rt}, dev_{rt, {.shared = is_shared}}, received_{rt}, sent_{rt} {}

  void send(const std::vector<std::byte>& bytes, const post_send_options& options) {
    static_cast<void>(post(dev_, [&] { return dev_.post_send(peer(), bytes, sent_, options); }));
  }
  void receive(std::vector<std::byte>& into, const post_recv_options& options) {
    EXPECT_TRUE(post(dev_, [&] { return dev_.post_recv(peer(), into, received_, options); }).is_posted());
  }
  // The next message that was received has these bytes and this tag, and is in a buffer as it was sent.
  void expect(const std::vector<std::byte>& into, const std::vector<std::byte>& bytes, std::uint64_t tag) {
    std::optional<completion_record> got;
    ASSERT_TRUE(eventually(dev_, [&] { return (got = received_.pop()).has_value(); }));
    EXPECT_EQ(got->error(), errc::none);
    EXPECT_EQ(got->tag(), tag);
    EXPECT_EQ(got->source(), peer());
    EXPECT_EQ(got->bytes(), bytes.size());
    EXPECT_EQ(into, bytes);
  }
  void settle() {
    EXPECT_TRUE(eventually(dev_, [&] { return sent_.outstanding() == 0; }));
  }
  [[nodiscard]] std::uint32_t peer() const { return 1 - rt_->rank(); }

 private:
  runtime* rt_;
  device dev_;
  completion_queue received_;
  counter sent_;
};

std::vector<std::byte> pattern(std::size_t bytes, std::uint64_t seed) {
  std::vector<std::byte> out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 251 + seed);
  return out;
}

TEST_P(named_engine, takes_messages_of_every_size_whichever_side_comes_first) {
  test::local_job{2}.run([](runtime& rt) {
    const matching_engine engine{rt, options_of(kind())};
    side mine{rt, is_shared()};
    std::uint64_t tag = 0;
    for (const std::size_t bytes : {0, 1, 8, 24, 40, 41, 1000, 100'000}) {
      for (const bool receives_first : {true, false}) {
        std::vector<std::byte> into(bytes, std::byte{0xee});
        const std::vector<std::byte> out = pattern(bytes, ++tag);
        if (receives_first) mine.receive(into, {.tag = tag, .engine = name_of(engine)});
        rt.barrier();
        mine.send(out, {.tag = tag, .engine = name_of(engine)});
        rt.barrier();
        if (!receives_first) mine.receive(into, {.tag = tag, .engine = name_of(engine)});
        mine.expect(into, out, tag);
        mine.settle();
      }
    }
    rt.barrier();
  });
}

TEST_P(named_engine, keeps_its_kind) {
  test::local_job{2}.run([](runtime& rt) {
    const matching_engine engine{rt, options_of(kind())};
    side mine{rt, is_shared()};
    const std::vector<std::byte> first = pattern(8, 1), second = pattern(8, 2);
    std::vector<std::byte> into(8);
    const bool is_open = kind() == engine_kind::by_policy;
    const match_policy policy = is_open ? match_policy::rank_only : match_policy::rank_tag;
    const std::uint64_t asked = is_open ? 9 : 1;
    mine.send(first, {.tag = 1, .engine = name_of(engine), .policy = policy});
    mine.receive(into, {.tag = asked, .engine = name_of(engine), .policy = policy});
    mine.expect(into, first, 1);
    // In the order of the posts, with and without wildcards; elsewhere by different tags.
    const bool is_ordered = kind() == engine_kind::ordered;
    mine.send(first, {.tag = 2, .engine = name_of(engine)});
    mine.send(second, {.tag = is_ordered ? 2U : 3U, .engine = name_of(engine)});
    mine.receive(into, {.tag = 2, .engine = name_of(engine), .any_tag = is_ordered});
    mine.expect(into, first, 2);
    mine.receive(into, {.tag = is_ordered ? 2U : 3U, .engine = name_of(engine)});
    mine.expect(into, second, is_ordered ? 2 : 3);
    mine.settle();
    rt.barrier();
  });
}

std::string param_name(const testing::TestParamInfo<named_engine::ParamType>& of) {
  constexpr const char* kinds[] = {"by_policy", "by_key", "ordered", "receiver_first"};
  const auto [kind, is_shared, by_object] = of.param;
  return std::string{kinds[static_cast<int>(kind)]} + (is_shared ? "_shared" : "_own") +
         (by_object ? "_object" : "_id");
}
INSTANTIATE_TEST_SUITE_P(kinds, named_engine,
                         testing::Combine(testing::Values(engine_kind::by_policy, engine_kind::by_key,
                                                          engine_kind::ordered, engine_kind::receiver_first),
                                          testing::Bool(), testing::Bool()),
                         param_name);

TEST(engine_name, is_an_id_or_an_object_and_the_default_engine_unless_given) {
  test::local_job{1}.run([](runtime& rt) {
    const matching_engine engine{rt, {.id = 4}};
    const post_send_options by_id{.engine = 4};
    const post_recv_options by_object{.engine = engine};
    EXPECT_EQ(by_id.engine.id(), 4U);
    EXPECT_EQ(by_object.engine.id(), 4U);
    EXPECT_EQ(by_id.engine.object(), nullptr);
    EXPECT_NE(by_object.engine.object(), nullptr);
    EXPECT_TRUE(probe_options{}.engine.is_default());
    EXPECT_FALSE(by_id.engine.is_default() || by_object.engine.is_default());
    static_assert(post_comm_options{}.engine.is_default());
  });
}

}  // namespace
}  // namespace weft
