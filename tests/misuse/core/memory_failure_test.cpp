// SPDX-License-Identifier: BSD-3-Clause
// Functions of kinds of memory and of layouts that fail: the message fails, at the sender and at the receiver, no byte
// is written beyond a buffer, and later messages in that engine or to that object arrive.
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <ostream>
#include <vector>

#include "misuse/core/faulty_memory.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

using test::fault;
using test::faulty_allocator;
using test::faulty_memory;

// One message, and which of its copies fails.
struct trial {
  bool is_layout;
  fault how;
  bool at_sender;
  std::size_t bytes;
  std::size_t fails_from;
  bool allow_retry;
  bool allow_done;
  bool delivered;

  [[nodiscard]] completion_level level() const noexcept {
    return delivered ? completion_level::delivered : completion_level::local;
  }
  // At the receiver it is always `memory_failed`.
  [[nodiscard]] errc error_at_sender() const noexcept {
    return at_sender || delivered ? errc::memory_failed : errc::none;
  }
};

std::ostream& operator<<(std::ostream& out, const trial& of) {
  constexpr std::array faults{"none", "throws", "is short", "says too many"};
  return out << (of.is_layout ? "layout" : "kind") << ", " << faults[static_cast<std::size_t>(of.how)] << " at the "
             << (of.at_sender ? "sender" : "receiver") << " from byte " << of.fails_from << " of " << of.bytes
             << (of.allow_retry ? "" : ", without retry") << (of.allow_done ? "" : ", without done")
             << (of.delivered ? ", delivered" : "");
}

// Each message of up to 40 bytes, of a packet, of just more, and of many packets; also where only a later part fails.
std::vector<trial> all_trials(std::size_t packet_bytes) {
  struct part {
    std::size_t bytes, fails_from;
  };
  const std::size_t many = 5 * packet_bytes + 3;
  const std::array parts{
      part{1, 0},    part{40, 0},          part{packet_bytes, 0}, part{packet_bytes + 1, packet_bytes},
      part{many, 0}, part{many, many / 2}, part{many, many - 1}};
  // The choices of options one after the other, so that each meets messages of several sizes.
  std::vector<trial> out;
  unsigned next = 0;
  for (const bool is_layout : {false, true})
    for (const fault how : {fault::throws, fault::is_short, fault::says_too_many})
      for (const bool at_sender : {false, true})
        for (const part& each : parts)
          for (unsigned i = 0; i < (how == fault::throws ? 2 : 1); ++i, ++next)
            out.push_back({is_layout, how, at_sender, each.bytes, each.fails_from, (next & 1) != 0, (next & 2) != 0,
                           (next & 4) != 0});
  return out;
}

// A rank with its kind of memory.
struct ends {
  explicit ends(runtime& at) : rt{at}, kind{rt, "faulty", faulty_memory::functions()}, over{rt} {}

  [[nodiscard]] const memory_kind* kind_of(const trial& of) const noexcept { return of.is_layout ? nullptr : &kind; }
  [[nodiscard]] bool is_sender() const noexcept { return rt.rank() == 0; }
  [[nodiscard]] device& dev() const noexcept { return rt.default_device(); }

  // The record of a post that has answered `posted`; none where it has answered `done`.
  std::optional<completion_record> record_of(const status& answer) {
    std::optional<completion_record> out;
    if (answer.is_posted()) {
      EXPECT_TRUE(test::eventually(dev(), [&] { return (out = over.pop()).has_value(); }));
    }
    return out;
  }

  runtime& rt;
  memory_kind kind;
  completion_queue over;
};

class send_and_receive {
 public:
  send_and_receive(ends& at, const engine_ref& engine, bool probes) : at_{at}, engine_{engine}, probes_{probes} {}

  void run(const trial& of, std::uint64_t key) {
    faulty_memory memory{at_.kind_of(of), of.bytes};
    if (at_.is_sender() == of.at_sender) memory.fail(of.how, of.fails_from);
    const errc wanted = at_.is_sender() ? of.error_at_sender() : errc::memory_failed;
    exchange(memory, of, key, wanted);
    // Once more, without the failure.
    memory.fail(fault::none);
    exchange(memory, of, key + 1, errc::none);
    EXPECT_TRUE(memory.has(key + 1)) << of;
  }

 private:
  void exchange(faulty_memory& memory, const trial& of, std::uint64_t tag, errc wanted) {
    if (at_.is_sender()) memory.fill(tag);
    const status answer =
        test::post(at_.dev(), [&] { return at_.is_sender() ? send(memory, of, tag) : receive(memory, tag, of); });
    EXPECT_TRUE(answer.is_posted() || (answer.is_done() && of.allow_done && wanted == errc::none)) << of;
    const std::optional<completion_record> record = at_.record_of(answer);
    if (record.has_value()) {
      EXPECT_STREQ(name_of(record->error()), name_of(wanted)) << of;
      EXPECT_EQ(record->memory(), &memory.in()) << of;
      if (!at_.is_sender()) {
        EXPECT_EQ(record->bytes(), wanted == errc::none ? of.bytes : 0) << of;
      }
    }
    EXPECT_TRUE(memory.is_whole()) << of;
  }
  status send(faulty_memory& memory, const trial& of, std::uint64_t tag) {
    return at_.dev().post_send(1, memory.from(), at_.over,
                               {.tag = tag,
                                .engine = engine_,
                                .complete_at = of.level(),
                                .allow_done = of.allow_done,
                                .allow_retry = of.allow_retry});
  }
  status receive(faulty_memory& memory, std::uint64_t tag, const trial& of) {
    if (!probes_)
      return at_.dev().post_recv(0, memory.into(), at_.over,
                                 {.tag = tag, .engine = engine_, .allow_retry = of.allow_retry});
    if (!found_) found_ = at_.dev().probe(0, {.tag = tag, .engine = engine_});
    if (!found_) {
      static_cast<void>(at_.dev().progress());
      return status::retry(shortage::none);
    }
    const status answer = found_->receive(memory.into(), at_.over);
    if (!answer.is_retry()) found_.reset();
    return answer;
  }

  ends& at_;
  const engine_ref engine_;
  bool probes_;
  std::optional<matched_message> found_;
};

void send_all(const matching_engine_options& options, bool probes = false) {
  test::local_job{2}.run([&](runtime& rt) {
    ends at{rt};
    const matching_engine engine{rt, options};
    rt.barrier();
    send_and_receive pair{at, engine, probes};
    std::uint64_t key = 0;
    for (const trial& each : all_trials(rt.attributes().packet_bytes)) {
      pair.run(each, key);
      key += 2;
      if (testing::Test::HasFailure()) break;
    }
    rt.barrier();
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

TEST(memory_that_fails, fails_its_send_and_no_other) { send_all({.id = 3}); }
TEST(memory_that_fails, fails_its_send_in_an_ordered_engine_and_no_other) { send_all({.id = 3, .ordered = true}); }
TEST(memory_that_fails, fails_its_send_in_a_receiver_first_engine_and_no_other) {
  send_all({.id = 3, .receiver_first = true});
}
TEST(memory_that_fails, fails_a_message_that_a_probe_has_found) { send_all({.id = 3}, true); }

// Active messages: only long ones are received into such memory.
class active_messages {
 public:
  explicit active_messages(ends& at) : at_{at}, inbox_{at.rt} {}

  void run(const trial& of, std::uint64_t key) {
    const std::size_t packet = at_.rt.attributes().packet_bytes;
    const bool is_long = of.bytes > packet || of.delivered;
    if (!of.at_sender && of.bytes <= packet) return;
    faulty_memory memory{at_.kind_of(of), of.bytes};
    faulty_allocator allocator{memory};
    ++id_;  // an id is never used twice
    std::optional<registration> arrivals;
    if (!at_.is_sender()) arrivals.emplace(at_.rt.register_completion(inbox_, {.id = id_, .allocator = &allocator}));
    // Before the barrier: in it the message of a sender that has left it may be delivered.
    if (at_.is_sender() == of.at_sender) memory.fail(of.how, of.fails_from);
    at_.rt.barrier();
    exchange(memory, of, key, true, is_long);
    EXPECT_TRUE(allocator.has_all_back()) << of;
    memory.fail(fault::none);
    at_.rt.barrier();
    exchange(memory, of, key + 1, false, is_long);
    EXPECT_TRUE(allocator.has_all_back()) << of;
    at_.rt.barrier();
  }

 private:
  void exchange(faulty_memory& memory, const trial& of, std::uint64_t tag, bool fails, bool is_long) {
    if (at_.is_sender()) {
      memory.fill(tag);
      const errc wanted = fails ? of.error_at_sender() : errc::none;
      const status answer = test::post(at_.dev(), [&] {
        return at_.dev().post_am(
            1, {id_}, memory.from(), at_.over,
            {.tag = tag, .complete_at = of.level(), .allow_done = of.allow_done, .allow_retry = of.allow_retry});
      });
      EXPECT_TRUE(answer.is_posted() || (answer.is_done() && of.allow_done && wanted == errc::none)) << of;
      if (const auto record = at_.record_of(answer)) {
        EXPECT_STREQ(name_of(record->error()), name_of(wanted)) << of;
      }
    } else {
      std::optional<completion_record> record;
      ASSERT_TRUE(test::eventually(at_.dev(), [&] { return (record = inbox_.pop()).has_value(); })) << of;
      EXPECT_STREQ(name_of(record->error()), name_of(fails ? errc::memory_failed : errc::none)) << of;
      EXPECT_EQ(record->tag(), tag);
      EXPECT_EQ(record->bytes(), fails ? 0 : of.bytes) << of;
      if (!fails && is_long) {
        EXPECT_TRUE(memory.has(tag)) << of;
      }
      if (!fails && is_long) {
        EXPECT_EQ(record->memory(), &memory.in()) << of;
      }
      if (!fails && !is_long) {
        EXPECT_EQ(record->data()[of.bytes - 1], faulty_memory::byte_at(tag, of.bytes - 1));
      }
    }
    EXPECT_TRUE(memory.is_whole()) << of;
  }

  ends& at_;
  completion_queue inbox_;
  std::uint32_t id_ = 5;
};

TEST(memory_that_fails, fails_its_active_message_and_no_other) {
  test::local_job{2}.run([](runtime& rt) {
    ends at{rt};
    active_messages both{at};
    std::uint64_t key = 0;
    for (const trial& each : all_trials(rt.attributes().packet_bytes)) {
      both.run(each, key += 2);
      if (testing::Test::HasFailure()) break;
    }
    rt.barrier();
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

// A reply reads its bytes before it returns: the error is thrown, and no message is sent.
TEST(memory_that_fails, fails_its_reply_at_once_and_no_other) {
  test::local_job{1}.run([](runtime& rt) {
    ends at{rt};
    completion_queue inbox{rt};
    const auto arrivals = rt.register_completion(inbox, {.id = 5});
    std::uint64_t key = 0;
    for (const trial& each : all_trials(rt.attributes().packet_bytes)) {
      faulty_memory memory{at.kind_of(each), each.bytes};
      memory.fill(++key);
      memory.fail(each.how, each.fails_from);
      const reply_options options{.tag = key, .copy_long = true, .local = each.allow_done ? nullptr : &at.over};
      try {
        at.dev().reply(0, {5}, memory.from(), options);
        ADD_FAILURE() << "nothing was thrown: " << each;
      } catch (const error& thrown) {
        EXPECT_STREQ(name_of(thrown.code()), name_of(errc::memory_failed)) << each;
      }
      EXPECT_EQ(at.over.outstanding(), 0U) << each;
      memory.fail(fault::none);
      at.dev().reply(0, {5}, memory.from(), options);
      std::optional<completion_record> record;
      ASSERT_TRUE(test::eventually(at.dev(), [&] { return (record = inbox.pop()).has_value(); })) << each;
      EXPECT_EQ(record->tag(), key) << each;
      EXPECT_EQ(record->error(), errc::none) << each;
      ASSERT_EQ(record->bytes(), each.bytes) << each;
      EXPECT_EQ(record->data()[each.bytes - 1], faulty_memory::byte_at(key, each.bytes - 1)) << each;
      EXPECT_TRUE(test::eventually(at.dev(), [&] { return at.over.outstanding() == 0; })) << each;
      while (const auto sent = at.over.pop()) EXPECT_EQ(sent->error(), errc::none) << each;
      EXPECT_TRUE(memory.is_whole()) << each;
      if (testing::Test::HasFailure()) break;
    }
    at.dev().flush();  // a long reply is fetched by now, but its sender may not know yet
  });
}

// Puts into, and gets from, a part of rank 1's memory, with a signal.
void transfer_all(bool is_put, bool librarys_memory) {
  test::local_job{2}.run([&](runtime& rt) {
    ends at{rt};
    completion_queue signals{rt};
    const auto arrivals = rt.register_completion(signals, {.id = 5});
    constexpr std::size_t margin = faulty_memory::margin;
    std::vector<std::byte> own(2 * margin + 6 * rt.attributes().packet_bytes, faulty_memory::unused);
    std::optional<memory_region> region;
    if (librarys_memory) {
      region.emplace(rt, own.size());
    } else {
      region.emplace(rt, std::span{own});
    }
    const std::span<std::byte> bytes = librarys_memory ? region->memory() : std::span{own};
    std::ranges::fill(bytes, faulty_memory::unused);
    remote_region theirs;
    const remote_region mine = region->handle();
    counter done{rt};
    static_cast<void>(test::post(at.dev(), [&] {
      return at.dev().post_recv(1 - rt.rank(), std::span{&theirs, 1}, done);
    }));
    static_cast<void>(test::post(at.dev(), [&] {
      return at.dev().post_send(1 - rt.rank(), std::span{&mine, 1}, done);
    }));
    ASSERT_TRUE(test::eventually(at.dev(), [&] { return done.value() >= 1 && done.outstanding() == 0; }));
    const auto transfer = [&](faulty_memory& memory, const trial& of, std::uint64_t tag) {
      return test::post(at.dev(), [&] {
        if (is_put)
          return at.dev().post_put(1, memory.from(), {theirs, margin}, at.over,
                                   {.signal = 5,
                                    .tag = tag,
                                    .complete_at = of.level(),
                                    .allow_done = of.allow_done,
                                    .allow_retry = of.allow_retry});
        return at.dev().post_get(1, memory.into(), {theirs, margin}, at.over,
                                 {.signal = 5, .tag = tag, .allow_done = of.allow_done, .allow_retry = of.allow_retry});
      });
    };
    std::uint64_t key = 0;
    for (const trial& each : all_trials(rt.attributes().packet_bytes)) {
      if (!each.at_sender) continue;  // here: at the rank that posts
      key += 2;
      const std::span<std::byte> used = bytes.subspan(margin, each.bytes);
      if (!at.is_sender()) {
        std::ranges::fill(bytes, faulty_memory::unused);
        for (std::size_t i = 0; i < each.bytes && !is_put; ++i) used[i] = faulty_memory::byte_at(key, i);
      }
      rt.barrier();
      if (at.is_sender()) {
        faulty_memory memory{at.kind_of(each), each.bytes};
        memory.fail(each.how, each.fails_from);
        const status first = transfer(memory, each, key);
        EXPECT_TRUE(first.is_posted()) << each;
        if (const auto record = at.record_of(first)) {
          EXPECT_STREQ(name_of(record->error()), name_of(errc::memory_failed)) << each;
        }
        memory.fail(fault::none);
        if (is_put) memory.fill(key + 1);
        const status second = transfer(memory, each, key + 1);
        if (const auto record = at.record_of(second)) {
          EXPECT_STREQ(name_of(record->error()), name_of(errc::none)) << each;
        }
        if (!is_put) {
          EXPECT_TRUE(memory.has(key)) << each;
        }
        EXPECT_TRUE(memory.is_whole()) << each;
        at.dev().flush();
      } else {
        // A put that fails signals its error, or nothing. A get that could not keep the bytes has read them, and may
        // signal that.
        std::uint64_t tag = 0;
        EXPECT_TRUE(test::eventually(at.dev(), [&] {
          while (const auto record = signals.pop()) {
            tag = record->tag();
            const bool is_second = tag == key + 1;
            EXPECT_TRUE(record->error() == errc::none ? is_second || !is_put
                                                      : !is_second && record->error() == errc::memory_failed)
                << each;
          }
          return tag == key + 1;
        })) << each;
      }
      rt.barrier();
      if (!at.is_sender()) {
        const auto is_unused = [](std::byte of) { return of == faulty_memory::unused; };
        EXPECT_TRUE(std::ranges::all_of(bytes.first(margin), is_unused)) << each;
        EXPECT_TRUE(std::ranges::all_of(bytes.subspan(margin + each.bytes), is_unused)) << each;
        bool is_right = true;
        for (std::size_t i = 0; i < each.bytes; ++i)
          is_right &= used[i] == faulty_memory::byte_at(is_put ? key + 1 : key, i);
        EXPECT_TRUE(is_right) << each;
      }
      rt.barrier();
      if (testing::Test::HasFailure()) break;
    }
    EXPECT_EQ(rt.counters().messages_refused, 0U);
  });
}

TEST(memory_that_fails, fails_its_put_into_a_region_of_the_librarys_memory) { transfer_all(true, true); }
TEST(memory_that_fails, fails_its_put_into_a_region_of_the_users_memory) { transfer_all(true, false); }
TEST(memory_that_fails, fails_its_get_from_a_region_of_the_librarys_memory) { transfer_all(false, true); }
TEST(memory_that_fails, fails_its_get_from_a_region_of_the_users_memory) { transfer_all(false, false); }

}  // namespace
}  // namespace weft
