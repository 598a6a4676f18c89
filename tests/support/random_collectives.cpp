// SPDX-License-Identifier: BSD-3-Clause
#include "support/random_collectives.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <vector>

#include "support/exchange.hpp"
#include "support/waiting.hpp"
#include "weft/test/local_job.hpp"
#include "weft/weft.hpp"

namespace weft::test {

namespace {

// Collectives of one thread of a rank. Another thread draws from another seed.
class random_steps {
 public:
  explicit random_steps(std::uint64_t seed) : random_{static_cast<std::uint32_t>(seed)} {}

  // Groups that this rank is not in take their part in what is drawn.
  void use(std::uint32_t size, group of) { groups_.push_back({size, std::move(of)}); }

  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      one(i);
      if (random_() % 8 == 0) finish();
    }
    finish();
  }
  [[nodiscard]] const std::string& faults() const noexcept { return faults_; }

 private:
  struct used_group {
    std::uint32_t size;
    group of;  // none: of other ranks
  };
  struct in_flight {
    in_flight(const exchange& drawn, const group& group_of)
        : in{group_of}, side{drawn, in.rank()}, end{in.device().runtime()} {}

    group in;
    member_side side;
    synchronizer end;
    std::optional<persistent_collective> kept;
  };

  void one(std::uint32_t number) {
    const used_group& which = groups_[random_() % groups_.size()];
    const exchange drawn = any_exchange(random_, number, which.size);
    const unsigned form = random_() % 4, memories = random_() % 8;
    if (!which.of.is_valid()) return;
    group in = which.of;
    const collective_options options{.algorithm = drawn.algorithm};
    // A member's form and memory are its own.
    const memory* const in_memory = memories + in.rank() % 4 < 4 ? &layout_of_bytes() : nullptr;
    if ((form + in.rank()) % 4 < 2) {
      member_side mine{drawn, in.rank()};
      mine.call(in_memory).run(in, options);
      check(mine, in);
      return;
    }
    in_flight& mine = flying_.emplace_back(drawn, in);
    if (form == 0) {
      mine.kept.emplace(mine.side.call(in_memory).keep(in, options));
      static_cast<void>(mine.kept->start(mine.end));
    } else {
      static_cast<void>(mine.side.call(in_memory).post(in, mine.end, options));
    }
  }

  void finish() {
    for (in_flight& each : flying_) {
      if (!eventually(each.in.device(), [&] { return each.end.is_ready(); }))
        throw error{errc::transport_failed, "a collective has not ended for minutes"};
      const auto end = each.end.take();
      if (end && end->error() != errc::none) fault(each.side, each.in, name_of(end->error()));
      check(each.side, each.in);
    }
    flying_.clear();
  }

  void check(const member_side& of, const group& in) {
    if (!of.is_right()) fault(of, in, "wrong bytes");
  }
  void fault(const member_side& of, const group& in, const char* why) {
    std::ostringstream text;
    text << of.of() << ", member " << in.rank() << ": " << why << '\n';
    faults_ += text.str();
  }

  std::mt19937 random_;
  std::vector<used_group> groups_;
  std::deque<in_flight> flying_;
  std::string faults_;
};

// Some ranks of a job, in any order; at least one.
std::vector<std::uint32_t> any_ranks(std::mt19937& random, std::uint32_t size) {
  std::vector<std::uint32_t> out(size);
  std::iota(out.begin(), out.end(), 0);
  std::shuffle(out.begin(), out.end(), random);
  out.resize(1 + random() % size);
  return out;
}

// A group of these ranks, which a rank may not be in.
group make_some(group& all, const std::vector<std::uint32_t>& ranks, device& through) {
  const bool is_in = std::find(ranks.begin(), ranks.end(), all.rank()) != ranks.end();
  return is_in ? all.include(ranks, 0, {.device = &through}) : group{};
}

}  // namespace

std::string run_random_collectives(runtime& rt, std::uint64_t seed, unsigned steps) {
  std::mt19937 random{static_cast<std::uint32_t>(seed)};
  // The rules of a machine that has more cores than this one, or fewer. The world's are those of its first call.
  local_job::assume_beyond_processors(rt, random() % 2 == 0);
  group all = rt.world().dup();
  std::string out;
  {
    random_steps own{seed};
    own.use(all.size(), all);
    const std::uint32_t colours = 1 + static_cast<std::uint32_t>(random() % 3);
    const std::uint32_t colour = rt.rank() % colours;
    const group part = all.split(colour, random() % 2 == 0 ? 0 : -static_cast<std::int64_t>(rt.rank()));
    // Of one colour all draw alike; the sizes of two colours may differ, and so do the draws: each has a seed.
    random_steps of_colour{seed + 1 + colour};
    of_colour.use(part.size(), part);
    for (int i = 0; i < 3; ++i) {
      const auto ranks = any_ranks(random, all.size());
      own.use(static_cast<std::uint32_t>(ranks.size()), make_some(all, ranks, rt.default_device()));
    }
    own.run(steps);
    of_colour.run(steps / 2);
    out += own.faults() + of_colour.faults();
  }
  // Threads with a group and a device each; the groups overlap.
  const std::size_t count = 1 + random() % 3;
  std::vector<std::unique_ptr<device>> devices;
  std::vector<std::unique_ptr<random_steps>> each_threads;
  for (std::size_t i = 0; i < count; ++i) devices.push_back(std::make_unique<device>(rt));
  // A message for a device that is not there yet goes to any device, and waits there for its thread.
  collective::barrier().run(all);
  for (std::size_t i = 0; i < count; ++i) {
    each_threads.push_back(std::make_unique<random_steps>(seed + 100 + i));
    const auto ranks = any_ranks(random, all.size());
    each_threads.back()->use(static_cast<std::uint32_t>(ranks.size()), make_some(all, ranks, *devices.back()));
    each_threads.back()->use(all.size(), all.dup({.device = devices.back().get()}));
  }
  std::vector<std::string> thrown(count);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      try {
        each_threads[i]->run(steps / 2);
      } catch (const std::exception& why) {
        thrown[i] = fmt::format("thread {}: {}\n", i, why.what());
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 0; i < count; ++i) out += each_threads[i]->faults() + thrown[i];
  each_threads.clear();
  collective::barrier().run(all);
  return out;
}

}  // namespace weft::test
