// SPDX-License-Identifier: BSD-3-Clause
// More receives, posts and waiting messages at a time than any pool has at first: rank 0 sends to rank 1 and to itself.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "process/am_load.hpp"

namespace weft::test {

struct pools_load {
  std::uint32_t receives = 1U << 20;
  std::uint32_t short_sends = 1'000'000;
  std::uint32_t long_sends = 100'000;
  std::uint32_t waiting = 100'000;

  /// A smaller load, where each message takes longer.
  [[nodiscard]] pools_load divided_by(std::uint32_t by) const {
    return {receives / by, short_sends / by, long_sends / by, waiting / by};
  }
};

/// Two ranks. The second one makes no progress while it waits for the first one's mark: a file.
class pools_rank {
 public:
  pools_rank(runtime& rt, const pools_load& load) : rt_{rt}, dev_{rt.default_device()}, load_{load} {
    std::array<char, 256> name{};
    counter sent{rt_};
    handler hear{rt_, [&](completion_record&& message) {
                   const completion_record taken{std::move(message)};
                   std::memcpy(name.data(), taken.data().data(), taken.bytes());
                 }};
    const registration heard = rt_.register_completion(hear, {.id = 1});
    rt_.barrier();
    if (rt_.rank() == 0) {
      mark_ = (std::filesystem::temp_directory_path() / ("weft-pools-" + std::to_string(::getpid()))).string();
      post_until_taken(dev_, 1, {1}, std::as_bytes(std::span{mark_}), sent);
      require(eventually(dev_, [&] { return sent.outstanding() == 0; }), "the name of the mark was not sent");
    } else {
      require(eventually(dev_, [&] { return name[0] != 0; }), "the name of the mark did not come");
      mark_ = name.data();
    }
    rt_.barrier();
  }
  ~pools_rank() { std::filesystem::remove(mark_); }
  pools_rank(const pools_rank&) = delete;
  pools_rank& operator=(const pools_rank&) = delete;

  void run() {
    const matching_engine ordered{rt_, {.id = 5, .ordered = true}};
    rt_.barrier();
    for (const std::uint32_t to : {1U, 0U}) {
      receive_at_once(to);
      send_to_a_busy_rank(to, load_.short_sends);
      send_long_to_a_busy_rank(to);
      for (const std::size_t bytes : {8U, 1000U}) {
        receive_in_reverse(to, default_matching_engine, bytes, load_.waiting);
        receive_in_reverse(to, ordered.id(), bytes, load_.waiting);
      }
    }
  }

 private:
  static constexpr std::uint32_t tags = 1024;

  [[nodiscard]] bool is_receiver(std::uint32_t to) const { return rt_.rank() == to; }
  [[nodiscard]] bool is_sender() const { return rt_.rank() == 0; }

  // The receiver makes no progress here.
  void wait_without_progress(std::uint32_t to) const {
    if (is_sender() || !is_receiver(to)) return;
    require(eventually([&] { return std::filesystem::exists(mark_); }), "the other rank did not end its posts");
  }
  // Until `of` has so many signals, or, with 0, none is outstanding. Each thousand of them has a bound.
  void wait_for(const counter& of, std::uint64_t signals) {
    const auto is_there = [&] { return signals == 0 ? of.outstanding() == 0 : of.value() >= signals; };
    while (!is_there()) {
      const std::uint64_t before = of.value();
      const auto has_more = [&] { return is_there() || of.value() >= before + 1000; };
      require(eventually(dev_, has_more), "operations did not end");
    }
    require(of.failed() == 0, "an operation failed");
  }
  void say_that_all_is_posted() const { std::ofstream{mark_} << "posted"; }
  void end_round(const char* round) {
    rt_.barrier();
    if (is_sender()) std::filesystem::remove(mark_);
    rt_.barrier();
    if (is_sender()) log_round(round);
  }
  static void log_round(const char* round) { std::printf("%s\n", round); }

  void send_words(std::uint32_t to, std::uint32_t count, counter& sent, std::vector<std::uint64_t>& out,
                  const post_send_options& options) {
    for (std::uint64_t i = 0; i < count; ++i) {
      post_send_options mine = options;
      mine.tag = i % tags;
      static_cast<void>(post(dev_, [&] { return dev_.post_send(to, std::span{&out[i], 1}, sent, mine); }));
    }
  }
  [[nodiscard]] static std::vector<std::uint64_t> numbers(std::uint32_t count) {
    std::vector<std::uint64_t> out(count);
    for (std::uint32_t i = 0; i < count; ++i) out[i] = i;
    return out;
  }
  void post_receives(std::vector<std::uint64_t>& into, counter& received) {
    for (std::uint32_t i = 0; i < into.size(); ++i) {
      const status answer = post(dev_, [&] {
        return dev_.post_recv(0, std::span{&into[i], 1}, received, {.tag = i % tags});
      });
      require(answer.is_posted(), "a receive was not posted");
    }
  }
  // Every number once, each in a receive of its tag.
  static void check_numbers(const std::vector<std::uint64_t>& got) {
    std::vector<bool> seen(got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      require(got[i] < got.size() && got[i] % tags == i % tags, "a receive got a message of another tag");
      require(!seen[got[i]], "a message came twice");
      seen[got[i]] = true;
    }
  }

  void receive_at_once(std::uint32_t to) {
    std::vector<std::uint64_t> into(is_receiver(to) ? load_.receives : 0);
    counter received{rt_}, sent{rt_};
    post_receives(into, received);
    require(received.outstanding() == into.size(), "not all receives are posted at a time");
    rt_.barrier();
    if (is_sender()) {
      std::vector<std::uint64_t> out = numbers(load_.receives);
      send_words(to, load_.receives, sent, out, {});
      wait_for(sent, 0);
    }
    wait_for(received, into.size());
    check_numbers(into);
    end_round("receives posted at once");
  }

  void send_to_a_busy_rank(std::uint32_t to, std::uint32_t count) {
    counter received{rt_}, sent{rt_};
    std::vector<std::uint64_t> out, into(is_receiver(to) ? count : 0);
    if (is_sender()) {
      out = numbers(count);
      send_words(to, count, sent, out, {.allow_retry = false});
      say_that_all_is_posted();
    }
    wait_without_progress(to);
    post_receives(into, received);
    wait_for(received, into.size());
    wait_for(sent, 0);
    check_numbers(into);
    end_round("short sends to a busy rank");
  }

  // Receives are posted a few at a time: the other messages wait, and no packets are left for them.
  void send_long_to_a_busy_rank(std::uint32_t to) {
    constexpr std::size_t bytes = 4096, patterns = 64;
    constexpr std::uint32_t at_a_time = 256;
    const std::uint32_t count = load_.long_sends;
    counter sent{rt_};
    std::vector<std::byte> out(bytes * patterns);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = byte_of(i / bytes, i % bytes);
    if (is_sender()) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto piece = std::span{out}.subspan(i % patterns * bytes, bytes);
        static_cast<void>(dev_.post_send(to, piece, sent, {.tag = i, .allow_retry = false}));
      }
      say_that_all_is_posted();
    }
    wait_without_progress(to);
    if (is_receiver(to)) {
      counter received{rt_};
      std::vector<std::byte> into(bytes * at_a_time);
      for (std::uint32_t first = 0; first < count; first += at_a_time) {
        const std::uint32_t now = std::min(at_a_time, count - first);
        const std::uint64_t before = received.value();
        for (std::uint32_t i = 0; i < now; ++i) {
          const auto piece = std::span{into}.subspan(i * bytes, bytes);
          static_cast<void>(post(dev_, [&] { return dev_.post_recv(0, piece, received, {.tag = first + i}); }));
        }
        wait_for(received, before + now);
        for (std::uint32_t i = 0; i < now; ++i) {
          const auto* const sent_bytes = out.data() + (first + i) % patterns * bytes;
          require(std::memcmp(into.data() + i * bytes, sent_bytes, bytes) == 0, "a message has other bytes");
        }
      }
    }
    wait_for(sent, 0);
    end_round("long sends to a busy rank");
  }

  // The first message that is received is the last one that was sent.
  void receive_in_reverse(std::uint32_t to, std::uint32_t engine, std::size_t bytes, std::uint32_t count) {
    counter sent{rt_}, received{rt_};
    std::vector<std::uint64_t> out;
    const std::size_t words = bytes / 8;
    if (is_sender()) {
      out.resize(count + words);
      for (std::uint32_t i = 0; i < out.size(); ++i) out[i] = i;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto piece = std::span{out}.subspan(i, words);
        static_cast<void>(post(dev_, [&] { return dev_.post_send(to, piece, sent, {.tag = i, .engine = engine}); }));
      }
    }
    if (is_receiver(to)) {
      std::vector<std::uint64_t> into(words);
      for (std::uint64_t i = count; i-- > 0;) {
        const std::uint64_t before = received.value();
        static_cast<void>(
            post(dev_, [&] { return dev_.post_recv(0, std::span{into}, received, {.tag = i, .engine = engine}); }));
        wait_for(received, before + 1);
        for (std::size_t word = 0; word < words; ++word)
          require(into[word] == i + word, "another message was received");
      }
    }
    wait_for(sent, 0);
    end_round("waiting messages received in reverse");
  }

  runtime& rt_;
  device& dev_;
  pools_load load_;
  std::string mark_;
};

/// `by`: how much smaller the load is than the whole one.
[[nodiscard]] inline int run_pools(std::uint32_t by) {
  return run_rank([&](runtime& rt) {
    pools_rank{rt, pools_load{}.divided_by(base::under_sanitizer ? 16 * by : by)}.run();
    rt.barrier();
  });
}

}  // namespace weft::test
