// SPDX-License-Identifier: BSD-3-Clause
// subject: src/core/fast src/core/operation include/weft
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

struct taken {
  std::uint32_t source = 0;
  std::uint64_t tag = 0;
  std::uint64_t bytes = 0;
};

// Keeps the errors of signals; receives that are taken by the function write to their contexts.
class both_kinds final : public completion {
 public:
  explicit both_kinds(weft::runtime& owner) : completion{owner} { take_receives_by(&take); }
  ~both_kinds() override { end_signals(); }
  answer signal(completion_record&& record) noexcept override {
    const completion_record consumed{std::move(record)};
    errors.push_back(consumed.error());
    return answer::taken;
  }
  std::vector<errc> errors;

 private:
  static void take(void* context, std::uint32_t source, std::uint64_t tag, std::uint64_t bytes) noexcept {
    *static_cast<std::optional<taken>*>(context) = taken{source, tag, bytes};
  }
};

void send(device& dev, counter& sent, const std::string& text, std::uint64_t tag, const matching_engine& engine) {
  dev.until_accepted(
      [&] { return dev.post_send(0, std::as_bytes(std::span{text}), sent, {.tag = tag, .engine = engine}); });
}

void receives_short_messages_of(const device_options& options, bool is_ordered) {
  test::local_job{2, {.default_device = options}}.run([&](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    both_kinds received{rt};
    const matching_engine engine{rt, {.id = 1, .ordered = is_ordered}};
    rt.barrier();
    if (rt.rank() == 1) {
      for (const auto& [text, tag] : {std::pair{"8 bytes.", 1}, {"some more than 8 bytes", 2}, {"too long", 3}})
        send(dev, sent, text, static_cast<std::uint64_t>(tag), engine);
    } else {
      std::string into(64, ' ');
      for (std::uint64_t tag = 1; tag <= 2; ++tag) {
        std::optional<taken> result;
        dev.until_accepted([&] {
          return dev.post_recv(1, std::as_writable_bytes(std::span{into}), received,
                               {.tag = tag, .engine = engine, .context = &result});
        });
        dev.wait(received, [&] { return result.has_value() || !received.errors.empty(); });
        // If the message was here before its receive, the object is signalled, and the context is as it was.
        if (!result) {
          EXPECT_EQ(received.errors, std::vector{errc::none});
          received.errors.clear();
          continue;
        }
        EXPECT_EQ(result->source, 1U);
        EXPECT_EQ(result->tag, tag);
        EXPECT_EQ(result->bytes, tag == 1 ? 8U : 22U);
        EXPECT_EQ(into.substr(0, result->bytes), tag == 1 ? "8 bytes." : "some more than 8 bytes");
      }
      std::optional<taken> result;
      dev.until_accepted([&] {
        return dev.post_recv(1, std::as_writable_bytes(std::span{into}.first(4)), received,
                             {.tag = 3, .engine = engine, .context = &result});
      });
      dev.wait(received, [&] { return !received.errors.empty(); });
      EXPECT_EQ(received.errors, std::vector{errc::truncated});
      EXPECT_FALSE(result);
    }
    rt.barrier();
    EXPECT_EQ(received.outstanding(), 0U);
  });
}

TEST(receive_function, takes_short_receives_of_ordered_engines) {
  receives_short_messages_of({.shared = false}, true);
  receives_short_messages_of({.shared = true}, true);
}

TEST(receive_function, takes_short_receives_of_engines_without_order) {
  receives_short_messages_of({.shared = false}, false);
  receives_short_messages_of({.shared = true}, false);
}

TEST(receive_function, finds_the_message_that_comes_after_its_receive) {
  test::local_job{2}.run([](runtime& rt) {
    device& dev = rt.default_device();
    counter sent{rt};
    both_kinds received{rt};
    const matching_engine engine{rt, {.id = 1, .ordered = true}};
    std::optional<taken> result;
    std::uint64_t into = 0;
    if (rt.rank() == 0) {
      EXPECT_TRUE(dev.post_recv(1, std::span{&into, 1}, received, {.tag = 5, .engine = engine, .context = &result})
                      .is_posted());
    }
    rt.barrier();
    if (rt.rank() == 1) {
      send(dev, sent, "12345678", 5, engine);
    } else {
      dev.wait(received, [&] { return result.has_value() || !received.errors.empty(); });
      // Without the fast paths the object is signalled.
      if (result) {
        EXPECT_EQ(result->bytes, 8U);
        EXPECT_TRUE(received.errors.empty());
      } else {
        EXPECT_EQ(received.errors, std::vector{errc::none});
      }
    }
    rt.barrier();
  });
}

}  // namespace
}  // namespace weft
