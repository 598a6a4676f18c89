// SPDX-License-Identifier: BSD-3-Clause
// Eight threads of each rank send and receive through one ordered engine, half of the posts such that they may not be
// refused: each receive gets the message that was sent for it.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "support/random_seed.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft {
namespace {

constexpr std::uint32_t threads_of_rank = 8;
constexpr std::uint64_t batch = 32;
constexpr std::uint64_t batches = test::under_sanitizer ? 6 : 40;
constexpr std::array<std::size_t, 4> words_of{1, 3, 100, 3000};  // in a cell, in a packet, by rendezvous

// One thread of a rank. Its messages have its number as tag, and count upwards.
class member {
 public:
  member(runtime& rt, const matching_engine& engine, std::uint64_t number)
      : engine_{&engine}, number_{number}, peer_{1 - rt.rank()}, received_{rt}, sent_{rt} {
    if (number % 2 == 0) own_ = std::make_unique<device>(rt, device_options{.shared = false});
    dev_ = own_ ? own_.get() : &rt.default_device();
  }

  void run() {
    for (std::uint64_t i = 0; i < batches && !testing::Test::HasFailure(); ++i) exchange(i * batch);
  }

 private:
  void exchange(std::uint64_t first) {
    for (std::uint64_t i = 0; i < batch; ++i) {
      if (i % 3 == 0) send(first + i);
      receive(first + i);
      if (i % 3 != 0) send(first + i);
    }
    EXPECT_TRUE(test::eventually(*dev_, [&] { return received_.value() == first + batch; }));
    for (std::uint64_t i = 0; i < batch; ++i) {
      const std::vector<std::uint64_t>& got = in_[i];
      EXPECT_EQ(got.front(), first + i) << "of thread " << number_;
      EXPECT_EQ(got.back(), first + i);
    }
    EXPECT_TRUE(test::eventually(*dev_, [&] { return sent_.outstanding() == 0; }));
    EXPECT_EQ(received_.failed() + sent_.failed(), 0U);
  }
  void send(std::uint64_t index) {
    std::vector<std::uint64_t>& words = out_[index % batch];
    words.assign(words_of[index % words_of.size()], index);
    static_cast<void>(test::post(*dev_, [&] {
      return dev_->post_send(peer_, words, sent_,
                             {.tag = number_, .engine = *engine_, .allow_retry = may_be_refused(index)});
    }));
  }
  void receive(std::uint64_t index) {
    std::vector<std::uint64_t>& words = in_[index % batch];
    words.assign(words_of[index % words_of.size()], ~std::uint64_t{0});
    static_cast<void>(test::post(*dev_, [&] {
      return dev_->post_recv(peer_, words, received_,
                             {.tag = number_, .engine = *engine_, .allow_retry = !may_be_refused(index)});
    }));
  }
  [[nodiscard]] bool may_be_refused(std::uint64_t index) const { return ((index + number_) / 2) % 2 == 0; }

  const matching_engine* engine_;
  std::uint64_t number_;
  std::uint32_t peer_;
  std::unique_ptr<device> own_;
  device* dev_ = nullptr;
  counter received_;
  counter sent_;
  std::array<std::vector<std::uint64_t>, batch> in_;
  std::array<std::vector<std::uint64_t>, batch> out_;
};

class ordered_stress : public testing::TestWithParam<bool> {};

TEST_P(ordered_stress, keeps_the_order_of_each_thread) {
  test::local_job{2}.run([](runtime& rt) {
    const matching_engine engine{rt, {.id = 8, .ordered = !GetParam(), .receiver_first = GetParam()}};
    rt.barrier();
    std::vector<std::thread> all;
    for (std::uint64_t number = 0; number < threads_of_rank; ++number) {
      all.emplace_back([&rt, &engine, number] { member{rt, engine, number}.run(); });
    }
    for (std::thread& each : all) each.join();
    rt.barrier();
  });
}

INSTANTIATE_TEST_SUITE_P(engines, ordered_stress, testing::Bool(),
                         [](const auto& of) { return std::string{of.param ? "receiver_first" : "ordered"}; });

}  // namespace
}  // namespace weft
