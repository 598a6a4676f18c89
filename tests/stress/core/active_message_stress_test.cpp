// SPDX-License-Identifier: BSD-3-Clause
// Many threads, sizes around every threshold, contents checked byte by byte, ranks as threads over one mapping.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"

namespace {

using weft::test::eventually;
using weft::test::flag;
using weft::test::published;
using weft::test::tally;

constexpr std::array<std::size_t, 14> sizes{0, 1, 8, 39, 40, 41, 48, 1000, 8191, 8192, 8193, 20000, 65536, 600000};

// The byte at `index` of the message of `seed`.
std::byte byte_of(std::uint64_t seed, std::size_t index) {
  return static_cast<std::byte>((seed * 0x9e3779b97f4a7c15 + index * 0x2545f4914f6cdd1d) >> 56);
}

struct load {
  std::uint32_t ranks;
  std::uint32_t threads;
  bool shared_device;
  std::uint32_t messages;  // of each thread, to a peer chosen at random
};

std::ostream& operator<<(std::ostream& out, const load& of) {
  return out << of.ranks << "_ranks_" << of.threads << "_threads_" << (of.shared_device ? "shared" : "dedicated");
}

// One rank's counts of sent and arrived messages.
struct traffic {
  tally<> sent_to;
  tally<> arrived;
  tally<> sum_sent;
  tally<> sum_arrived;
};

// A message under way whose buffer has to stay until it is complete.
struct outgoing {
  std::vector<std::byte> bytes;
};

class worker {
 public:
  worker(weft::runtime& rt, weft::device& dev, weft::completion_queue& inbox, std::vector<traffic>& traffics,
         const load& work, std::uint32_t thread)
      : rt_{rt},
        dev_{dev},
        inbox_{inbox},
        traffics_{traffics},
        load_{work},
        completed_{rt, {.capacity = 64}},
        random_{rt.rank() * 1000 + thread} {}

  void run() {
    for (std::uint32_t i = 0; i < load_.messages; ++i) {
      send_one();
      serve();
    }
    ASSERT_TRUE(eventually(dev_, [&] {
      serve();
      return pending_ == 0;
    }));
  }

  void serve() {
    for (int i = 0; i < 4; ++i) {
      auto got = inbox_.pop();
      if (!got) break;
      check(*got);
      // Some records are kept for a while, so that packets stay with their receivers.
      if (random_() % 8 == 0) kept_.push_back(std::move(*got));
      if (kept_.size() > 50) kept_.erase(kept_.begin(), kept_.begin() + 25);
    }
    while (auto done = completed_.pop()) {
      ASSERT_EQ(done->error(), weft::errc::none);
      delete static_cast<outgoing*>(done->context());
      --pending_;
    }
  }

 private:
  void send_one() {
    const auto peer = static_cast<std::uint32_t>(random_() % load_.ranks);
    auto message = std::make_unique<outgoing>();
    const std::uint64_t seed = random_();
    message->bytes.resize(sizes[random_() % sizes.size()]);
    for (std::size_t i = 0; i < message->bytes.size(); ++i) message->bytes[i] = byte_of(seed, i);
    weft::status s = weft::status::retry(weft::shortage::none);
    ASSERT_TRUE(eventually(dev_, [&] {
      s = dev_.post_am(peer, {1}, message->bytes, completed_, {.tag = seed, .context = message.get()});
      if (s.is_retry()) serve();
      return !s.is_retry();
    }));
    traffics_[peer].sent_to.add();
    traffics_[peer].sum_sent.add(seed);
    if (s.is_posted()) {
      ++pending_;
      static_cast<void>(message.release());
    }
    dev_.progress();
  }

  void check(const weft::completion_record& got) {
    const auto data = got.data();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != byte_of(got.tag(), i);
    ASSERT_EQ(wrong, 0U) << "of " << data.size() << " bytes";
    ASSERT_TRUE(std::ranges::find(sizes, data.size()) != sizes.end()) << data.size();
    traffic& mine = traffics_[rt_.rank()];
    mine.arrived.add();
    mine.sum_arrived.add(got.tag());
  }

  weft::runtime& rt_;
  weft::device& dev_;
  weft::completion_queue& inbox_;
  std::vector<traffic>& traffics_;
  const load& load_;
  weft::completion_queue completed_;
  std::mt19937_64 random_;
  std::vector<weft::completion_record> kept_;
  std::uint64_t pending_ = 0;
};

class active_messages_of_all_sizes : public testing::TestWithParam<load> {};

TEST_P(active_messages_of_all_sizes, arrive_once_and_whole) {
  const load work = GetParam();
  std::vector<traffic> traffics(work.ranks);
  tally<std::uint32_t> sending{work.ranks * work.threads};
  weft::test::local_job{work.ranks}.run([&](weft::runtime& rt) {
    weft::completion_queue inbox{rt, {.capacity = 128}};
    const auto arrivals = rt.register_completion(inbox, {.id = 1});
    rt.barrier();
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < work.threads; ++t) {
      threads.emplace_back([&, t] {
        std::optional<weft::device> own;
        if (!work.shared_device) own.emplace(rt, weft::device_options{.shared = false});
        weft::device& dev = own ? *own : rt.default_device();
        worker me{rt, dev, inbox, traffics, work, t};
        me.run();
        sending.subtract();
        traffic& mine = traffics[rt.rank()];
        EXPECT_TRUE(eventually(dev, [&] {
          me.serve();
          rt.default_device().progress();  // delivers messages to devices that have gone by now
          return sending.value() == 0 && mine.arrived.value() == mine.sent_to.value();
        }));
      });
    }
    for (std::thread& thread : threads) thread.join();
    rt.barrier();
    EXPECT_FALSE(inbox.pop().has_value());
    EXPECT_EQ(rt.counters().messages_refused, 0U);
    EXPECT_EQ(rt.counters().messages_dropped, 0U);
  });
  for (const traffic& each : traffics) {
    EXPECT_EQ(each.arrived.value(), each.sent_to.value());
    EXPECT_EQ(each.sum_arrived.value(), each.sum_sent.value());
  }
}

INSTANTIATE_TEST_SUITE_P(loads, active_messages_of_all_sizes,
                         testing::Values(load{1, 4, true, 400}, load{1, 4, false, 400}, load{2, 1, true, 1000},
                                         load{2, 1, false, 1000}, load{2, 4, true, 400}, load{2, 4, false, 400},
                                         load{4, 2, true, 200}, load{4, 2, false, 200}),
                         testing::PrintToStringParamName());

// For many runs over a simulated network (tests/scripts/seeds_test.py).
INSTANTIATE_TEST_SUITE_P(short_loads, active_messages_of_all_sizes,
                         testing::Values(load{1, 2, true, 20}, load{2, 2, true, 20}, load{2, 2, false, 20}),
                         testing::PrintToStringParamName());

// Devices come and go while messages are under way to them.
TEST(devices, may_come_and_go_while_messages_are_under_way) {
  constexpr std::uint32_t rounds = 60, threads = 3, each = 20;
  std::array<tally<>, 2> sent_to, arrived;
  tally<std::uint32_t> sending{2 * threads};
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::counter sent{rt};
    weft::handler count{rt, [&](weft::completion_record&& m) {
                          EXPECT_EQ(m.bytes(), m.tag());
                          arrived[rt.rank()].add();
                        }};
    const auto arrivals = rt.register_completion(count, {.id = 1});
    rt.barrier();
    std::vector<std::thread> workers;
    for (std::uint32_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        const std::vector<std::byte> payload(sizes[t * 4]);
        for (std::uint32_t round = 0; round < rounds; ++round) {
          weft::device dev{rt, {.shared = round % 2 == 0}};
          for (std::uint32_t i = 0; i < each; ++i) {
            EXPECT_TRUE(eventually(dev, [&] {
              rt.default_device().progress();
              return !dev.post_am(1 - rt.rank(), {1}, payload, sent, {.tag = payload.size()}).is_retry();
            }));
            sent_to[1 - rt.rank()].add();
          }
        }
        sending.subtract();
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_TRUE(eventually(rt.default_device(), [&] {
      return sending.value() == 0 && arrived[rt.rank()].value() == sent_to[rt.rank()].value();
    }));
    rt.barrier();
  });
}

// Ids are registered and withdrawn while peers keep sending to them.
TEST(registrations, may_be_withdrawn_while_messages_arrive) {
  flag finished;
  published<std::uint32_t> registered{1};
  weft::test::local_job{2}.run([&](weft::runtime& rt) {
    weft::counter sent{rt};
    if (rt.rank() == 0) {
      std::thread poller{[&] {
        while (!finished.is_raised()) {
          if (!rt.default_device().progress()) std::this_thread::yield();
        }
      }};
      for (std::uint32_t id = 1; id <= 200; ++id) {
        weft::counter inbox{rt};
        const auto arrivals = rt.register_completion(inbox, {.id = id});
        registered.publish(id);
        EXPECT_TRUE(eventually(rt.default_device(), [&] { return inbox.value() > 0; })) << id;
      }
      finished.raise();
      poller.join();
    } else {
      const std::uint64_t word = 1;
      // For the one that is there, some that were and some that will be.
      for (std::uint32_t round = 0; !finished.is_raised(); ++round) {
        const auto id = static_cast<std::uint32_t>(
            std::clamp(static_cast<int>(registered.value()) + static_cast<int>(round % 8) - 2, 1, 200));
        static_cast<void>(rt.default_device().post_am(0, {id}, std::span{&word, 1}, sent));
        rt.default_device().progress();
      }
    }
  });
}

}  // namespace
