// SPDX-License-Identifier: BSD-3-Clause
// A load of active messages between real processes: all sizes, several threads, contents checked byte by byte.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/config.hpp"
#include "base/sanitizer.hpp"
#include "support/between_threads.hpp"
#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Ends the process, and by its exit code the job, where something is not as it should be.
inline void require(bool good, const std::string& description) {
  if (good) return;
  std::fprintf(stderr, "active messages: %s\n", description.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

/// The byte at `index` of the message of `seed`.
inline std::byte byte_of(std::uint64_t seed, std::size_t index) noexcept {
  return static_cast<std::byte>((seed * 0x9e37'79b9'7f4a'7c15 + index * 0x2545'f491'4f6c'dd1d) >> 56);
}

struct am_load {
  std::uint32_t threads = 3;
  std::uint32_t messages = 200;  // of each thread, to ranks chosen at random, its own included
  bool shared_device = true;
  std::size_t inbox_capacity = 128;
  std::size_t kept_max = 40;  // records that a thread keeps for a while
  std::uint32_t first_id = 1;
};

/// One rank's part of a load.
class am_rank {
 public:
  am_rank(runtime& rt, const am_load& load)
      : rt_{rt},
        load_{load},
        inbox_{rt, {.capacity = load.inbox_capacity}},
        totals_{rt, {.capacity = rt.size() + 1}},
        arrivals_{rt.register_completion(inbox_, {.id = load.first_id})},
        told_{rt.register_completion(totals_, {.id = load.first_id + 1})},
        sent_to_(rt.size()),
        sending_{load.threads} {
    const std::size_t packet = rt.attributes().packet_bytes;
    sizes_ = {0, 1, 7, 8, 9, 39, 40, 41, 48, 300, packet - 1, packet, packet + 1, 2 * packet + 1};
  }

  void run() {
    std::vector<std::thread> threads;
    for (std::uint32_t t = 0; t < load_.threads; ++t) {
      threads.emplace_back([this, t] {
        try {
          work(t);
        } catch (const std::exception& problem) {
          require(false, fmt::format("rank {}, thread {}: {}", rt_.rank(), t, problem.what()));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    rt_.barrier();
    require(!inbox_.pop().has_value(), "a message more than was sent");
    require(rt_.counters().messages_refused == 0, fmt::format("{} messages refused", rt_.counters().messages_refused));
    require(rt_.counters().messages_dropped == 0, fmt::format("{} messages dropped", rt_.counters().messages_dropped));
    std::string retries;
    for (std::size_t i = 1; i < retries_.size(); ++i) {
      retries += fmt::format(" {}:{}", name_of(static_cast<shortage>(i)), retries_[i].value());
    }
    std::printf("rank %u of %u: %llu messages arrived; retries%s backlog:%llu\n", rt_.rank(), rt_.size(),
                static_cast<unsigned long long>(arrived_.value()), retries.c_str(),
                static_cast<unsigned long long>(refused_.value()));
  }

 private:
  struct outgoing {
    std::vector<std::byte> bytes;
  };
  struct total {
    std::uint64_t messages;
    std::uint64_t sum;  // of the tags
  };
  struct sent {
    tally<> messages;
    tally<> sum;
  };

  struct thread_state {
    thread_state(runtime& rt, device& through, std::uint32_t thread)
        : dev{through}, completed{rt, {.capacity = 8}}, random{rt.rank() * 1000 + thread} {}
    device& dev;
    completion_queue completed;
    std::mt19937_64 random;
    std::deque<completion_record> kept;
    std::uint64_t pending = 0;
  };

  void work(std::uint32_t thread) {
    std::optional<device> own;
    if (!load_.shared_device) own.emplace(rt_, device_options{.shared = false});
    thread_state mine{rt_, own ? *own : rt_.default_device(), thread};
    for (std::uint32_t i = 0; i < load_.messages; ++i) {
      send_one(mine);
      mine.dev.progress();
      serve(mine);
    }
    if (sending_.subtract() == 1) tell_totals(mine);
    const bool all = eventually(mine.dev, [&] {
      serve(mine);
      return mine.pending == 0 && everything_came();
    });
    require(all, fmt::format("rank {}: {} of {} messages came, {} totals, {} posts of thread {} under way", rt_.rank(),
                             arrived_.value(), expected_.value(), totals_told_.value(), mine.pending, thread));
    while (!mine.kept.empty()) give_back_oldest(mine);
  }

  [[nodiscard]] std::size_t size_for(thread_state& mine) const {
    const std::uint64_t die = mine.random();
    if (die % 128 == 0) return (std::size_t{3} << 20) + 5;
    if (die % 16 == 1) return 600'000;
    return sizes_[die / 128 % sizes_.size()];
  }

  void send_one(thread_state& mine) {
    const auto peer = static_cast<std::uint32_t>(mine.random() % rt_.size());
    const std::uint64_t seed = mine.random();
    auto message = std::make_unique<outgoing>();
    message->bytes.resize(size_for(mine));
    for (std::size_t i = 0; i < message->bytes.size(); ++i) message->bytes[i] = byte_of(seed, i);
    const std::uint64_t die = mine.random();
    const post_am_options options{.tag = seed,
                                  .device = die % 8 == 0 ? static_cast<std::uint32_t>(die >> 60) : any_device,
                                  .context = message.get(),
                                  .allow_done = die / 8 % 4 != 0,
                                  .allow_retry = die / 32 % 4 != 0};
    // Counted before it can arrive.
    sent_to_[peer].messages.add();
    sent_to_[peer].sum.add(seed);
    bool posted = false;
    const bool taken = eventually(mine.dev, [&] {
      const bool through = try_post(mine, peer, message->bytes, options, posted);
      if (!through) serve(mine);
      return through;
    });
    require(taken, fmt::format("rank {}: a post to rank {} was refused for a minute", rt_.rank(), peer));
    if (posted) {
      ++mine.pending;
      static_cast<void>(message.release());
    }
  }

  [[nodiscard]] bool try_post(thread_state& mine, std::uint32_t peer, const_buffer_ref bytes,
                              const post_am_options& options, bool& posted) {
    try {
      const status answer = mine.dev.post_am(peer, {load_.first_id}, bytes, mine.completed, options);
      posted = answer.is_posted();
      require(!answer.is_done() || options.allow_done, "done, though that was forbidden");
      require(!answer.is_retry() || options.allow_retry, "retry, though that was forbidden");
      if (answer.is_retry()) retries_[static_cast<std::size_t>(answer.reason())].add();
      return !answer.is_retry();
    } catch (const error& problem) {
      require(problem.code() == errc::backlog_full && !options.allow_retry, problem.what());
      refused_.add();
      return false;
    }
  }

  void serve(thread_state& mine) {
    for (int i = 0; i < 4; ++i) {
      auto got = inbox_.pop();
      if (!got) {
        // Nothing new: the others may lack the packets that are kept here.
        if (!mine.kept.empty()) give_back_oldest(mine);
        break;
      }
      check(*got);
      sum_.add(got->tag());
      arrived_.add();
      if (mine.random() % 4 == 0) mine.kept.push_back(std::move(*got));
      if (mine.kept.size() > load_.kept_max) give_back_oldest(mine);
    }
    while (auto done = mine.completed.pop()) {
      require(done->error() == errc::none, fmt::format("a post failed: {}", name_of(done->error())));
      delete static_cast<outgoing*>(done->context());
      --mine.pending;
    }
    while (auto told = totals_.pop()) {
      total there{};
      require(told->bytes() == sizeof there, "a total of a wrong size");
      std::memcpy(&there, told->data().data(), sizeof there);
      expected_.add(there.messages);
      expected_sum_.add(there.sum);
      totals_told_.add();
    }
  }

  // Its bytes are unchanged since its arrival: no thread has written into its packet meanwhile.
  void give_back_oldest(thread_state& mine) {
    check(mine.kept.front());
    mine.kept.pop_front();
  }

  void check(const completion_record& got) const {
    require(got.error() == errc::none, fmt::format("a message arrived with error {}", name_of(got.error())));
    const auto data = got.data();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < data.size(); ++i) wrong += data[i] != byte_of(got.tag(), i);
    require(wrong == 0, fmt::format("rank {}: {} of {} bytes from rank {} are wrong", rt_.rank(), wrong, data.size(),
                                    got.source()));
  }

  void tell_totals(thread_state& mine) {
    for (std::uint32_t peer = 0; peer < rt_.size(); ++peer) {
      const total out{sent_to_[peer].messages.value(), sent_to_[peer].sum.value()};
      const bool taken = eventually(mine.dev, [&] {
        serve(mine);
        return mine.dev.post_am(peer, {load_.first_id + 1}, std::span{&out, 1}, mine.completed).is_done();
      });
      require(taken, "a total was refused for a minute");
    }
  }

  [[nodiscard]] bool everything_came() {
    if (totals_told_.value() != rt_.size() || arrived_.value() < expected_.value()) return false;
    require(arrived_.value() == expected_.value(), "more messages came than were sent");
    require(sum_.value() == expected_sum_.value(), "other messages came than were sent");
    return true;
  }

  runtime& rt_;
  am_load load_;
  completion_queue inbox_;
  completion_queue totals_;
  registration arrivals_;
  registration told_;
  std::vector<std::size_t> sizes_;
  std::vector<sent> sent_to_;
  tally<std::uint32_t> sending_;
  tally<> arrived_, sum_;
  tally<> expected_, expected_sum_;
  tally<std::uint32_t> totals_told_;
  std::array<tally<>, 5> retries_;
  tally<> refused_;
};

/// A setting for this process, before the library reads its environment.
inline void set(const char* name, const char* value) { ::setenv(name, value, 1); }

/// Runs `body` with this process's runtime, which has to be one of as many as the test was promised.
template <class Body>
int run_rank(Body body) {
  try {
    const auto promised = base::process_settings().test_ranks;
    require(promised.has_value(), "WEFT_TEST_RANKS doesn't say how many ranks there should be");
    runtime rt;
    require(rt.size() == *promised, fmt::format("{} ranks instead of {}", rt.size(), *promised));
    body(rt);
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "active messages: %s\n", problem.what());
    return 1;
  }
}

/// One load twice: all threads on the default device, then each on a device of its own.
inline int run_loads(am_load load) {
  if (base::under_sanitizer) load.messages /= 4;  // each is ten times as slow
  return run_rank([&](runtime& rt) {
    for (const bool shared : {true, false}) {
      load.shared_device = shared;
      am_rank{rt, load}.run();
      load.first_id += 10;
    }
    rt.barrier();
  });
}

}  // namespace weft::test
