// SPDX-License-Identifier: BSD-3-Clause
// The subcommand `reductions`: each type and operation of reductions beside a loop that the compiler has vectorized.
#include <algorithm>

#include "weft-perf/commands.hpp"
#include "weft-perf/limits/bursts.hpp"
#include "weft-perf/measure/content.hpp"
#include "weft-perf/measure/loops.hpp"
#include "weft-perf/measure/typed_reductions.hpp"
#include "weft-perf/report/clock.hpp"
#include "weft-perf/report/figures.hpp"
#include "weft-perf/report/machine.hpp"

namespace weft::perf {
namespace {

constexpr double part_aimed_at = 0.7;
// One type and operation.
struct measured_reduction {
  std::string name;
  reduction op;
  reducing_loop loop;
  void (*fill)(void* bytes, std::size_t count);
};

// Ones stay ones or grow slowly; no floating-point number becomes one that is slow.
template <class Element>
void fill_with_ones(void* bytes, std::size_t count) {
  auto* const into = static_cast<Element*>(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (requires { into[i].index; })
      into[i] = {1, i};
    else
      into[i] = Element(1);
  }
}

std::vector<measured_reduction> all_reductions() {
  const std::vector<reducing_loop> loops = vectorized_loops();
  std::vector<measured_reduction> out;
  each_reduction([&]<class Element, class Callable>(const std::string& name) {
    out.push_back({name, reduction::callable<Element>(Callable{}), loops[out.size()], fill_with_ones<Element>});
  });
  return out;
}

// Two arrays, and how fast elements of them are combined.
class arrays {
 public:
  arrays(const measured_reduction& measured, std::size_t bytes)
      : measured_{measured}, count_{bytes / measured.op.element_bytes}, input_(bytes + 64), inout_(bytes + 64) {
    measured.fill(aligned(input_), count_);
    measured.fill(aligned(inout_), count_);
  }
  double by_reduction(double seconds) {
    return rate(seconds, [&] { measured_.op.combine(aligned(input_), aligned(inout_), count_, measured_.op.context); });
  }
  double by_loop(double seconds) {
    return rate(seconds, [&] { measured_.loop(aligned(input_), aligned(inout_), count_); });
  }

 private:
  static std::byte* aligned(std::vector<std::byte>& bytes) {
    return bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
  }
  template <class Combine>
  double rate(double seconds, const Combine& combine) const {
    const std::size_t times = std::max<std::size_t>(1, 64 * kib / (count_ * measured_.op.element_bytes));
    return bursts_of(seconds,
                     [&] {
                       for (std::size_t i = 0; i < times; ++i) combine();
                       return static_cast<double>(times * count_);
                     })
        .rate();
  }

  const measured_reduction& measured_;
  std::size_t count_;
  std::vector<std::byte> input_;
  std::vector<std::byte> inout_;
};

figure figure_of(const measured_reduction& measured, std::size_t bytes, const std::vector<double>& mine,
                 const std::vector<double>& loops) {
  figure out;
  out.claim = "reductions";
  out.detail = measured.name;
  out.unit = "op/s";
  out.conditions.label = "unknown";
  out.conditions.pinning = pinning_of_thread();
  out.bytes = bytes;
  out.more_is_better = true;
  out.weft = summarize(mine);
  out.peers["loop"] = summarize(loops);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < mine.size(); ++i) ratios.push_back(mine[i] / loops[i]);
  out.aim = {.ratio = part_aimed_at, .paired = summarize(std::move(ratios))};
  return out;
}

}  // namespace

void run_reductions(const options& chosen) {
  const pinned_here pinned{0};
  printer out{chosen.json, true};
  const double seconds = chosen.seconds != 0.1 ? chosen.seconds : 2e-3;
  const std::uint32_t rounds = chosen.rounds == 0 ? 7 : chosen.rounds;
  const std::vector<std::size_t> sizes =
      chosen.sizes.empty() ? std::vector<std::size_t>{512, 4 * kib, 256 * kib} : chosen.sizes;
  for (const measured_reduction& each : all_reductions()) {
    for (const std::size_t bytes : sizes) {
      if (bytes < each.op.element_bytes) continue;
      arrays both{each, bytes};
      std::vector<double> mine, loops;
      for (std::uint32_t i = 0; i < rounds; ++i) {
        if (i % 2 == 0) mine.push_back(both.by_reduction(seconds));
        loops.push_back(both.by_loop(seconds));
        if (i % 2 != 0) mine.push_back(both.by_reduction(seconds));
      }
      out.print(figure_of(each, bytes, mine, loops));
    }
  }
}

}  // namespace weft::perf
