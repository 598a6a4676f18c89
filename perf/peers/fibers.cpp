// SPDX-License-Identifier: BSD-3-Clause
// Fibers of Boost.Fiber, in the roles of Weft's in `weft-perf fibers`:
//   c++ -O2 -std=c++20 fibers.cpp -lboost_fiber -lboost_context -pthread
//   fibers yield:COUNT:MILLISECONDS     COUNT fibers of one thread that do nothing but yield
//   fibers signal:2:MILLISECONDS        two fibers of two threads that wake each other up, to and fro
// Prints `sample 0 NANOSECONDS 0 0 1`.
#include <sched.h>

#include <boost/fiber/all.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
namespace bf = boost::fibers;

double ns_since(clock_type::time_point begin) {
  return std::chrono::duration<double, std::nano>(clock_type::now() - begin).count();
}

void pin(unsigned core) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  unsigned seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || seen++ != core % static_cast<unsigned>(CPU_COUNT(&allowed))) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

double yields(unsigned count, double seconds) {
  constexpr unsigned stride = 64;
  pin(0);
  bool is_over = false;
  std::uint64_t sum = 0;
  std::vector<bf::fiber> all;
  for (unsigned i = 0; i < count; ++i) {
    all.emplace_back([&] {
      while (!is_over) {
        boost::this_fiber::yield();
        ++sum;
      }
    });
  }
  // All have begun after the first turns of this one, which then runs among them.
  for (int i = 0; i < 3; ++i) boost::this_fiber::yield();
  sum = 0;
  std::uint64_t mine = 0;
  const auto begin = clock_type::now();
  while (ns_since(begin) < seconds * 1e9) {
    for (unsigned i = 0; i < (stride + count - 1) / count; ++i, ++mine) boost::this_fiber::yield();
  }
  const double out = ns_since(begin) / static_cast<double>(sum + mine);
  is_over = true;
  for (bf::fiber& each : all) each.join();
  return out;
}

double signals(double seconds) {
  struct side {
    bf::mutex guard;
    bf::condition_variable changed;
    std::uint64_t told = 0;
  } sides[2];
  constexpr std::uint64_t last = ~std::uint64_t{0};
  const auto hear = [&](int me, std::uint64_t before) {
    std::unique_lock lock{sides[me].guard};
    sides[me].changed.wait(lock, [&] { return sides[me].told != before; });
    return sides[me].told;
  };
  const auto tell = [&](int me, std::uint64_t number) {
    {
      const std::unique_lock lock{sides[1 - me].guard};
      sides[1 - me].told = number;
    }
    sides[1 - me].changed.notify_one();
  };
  std::thread answers{[&] {
    pin(1);
    bf::fiber{[&] {
      for (std::uint64_t round = 0; (round = hear(1, round)) != last;) tell(1, round);
    }}.join();
  }};
  double out = 0;
  pin(0);
  bf::fiber{[&] {
    std::uint64_t round = 0;
    const auto begin = clock_type::now();
    while (ns_since(begin) < seconds * 1e9) {
      for (int i = 0; i < 16; ++i) {
        tell(0, round + 1);
        round = hear(0, round);
      }
    }
    out = ns_since(begin) / static_cast<double>(round) / 2;
    tell(0, last);
  }}.join();
  answers.join();
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  char name[32];
  unsigned count = 0;
  double milliseconds = 0;
  if (argc != 2 || std::sscanf(argv[1], "%31[^:]:%u:%lf", name, &count, &milliseconds) != 3 || count == 0) {
    std::fprintf(stderr, "fibers: this is no point\n");
    return 1;
  }
  const double seconds = milliseconds / 1000;
  const double ns = std::strcmp(name, "yield") == 0 ? yields(count, seconds) : signals(seconds);
  std::printf("sample 0 %.6g 0 0 1\n", ns);
  return 0;
}
