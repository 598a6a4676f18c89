// SPDX-License-Identifier: BSD-3-Clause
#include "model/chooser.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace weft::model {

void chooser::search_systematically(unsigned deviations_max) {
  mode_ = mode::systematic;
  deviations_max_ = deviations_max;
  trail_.clear();
  fresh_ = true;
  cut_ = false;
}

void chooser::search_randomly(std::uint64_t seed) {
  mode_ = mode::random;
  random_.seed(seed);
}

void chooser::repeat(const std::string& deviations) {
  mode_ = mode::repeating;
  trail_.clear();
  std::istringstream in(deviations);
  unsigned call = 0;
  unsigned option = 0;
  for (char colon = 0; in >> call >> colon >> option;) trail_.push_back({call, option, option + 1});
}

bool chooser::begin() {
  if (call_ > 0) last_calls_ = call_;
  if (mode_ == mode::systematic && !fresh_) {
    while (!trail_.empty() && trail_.back().option + 1 == trail_.back().count) trail_.pop_back();
    if (trail_.empty()) return false;
    ++trail_.back().option;
  }
  if (mode_ == mode::random) draw_style();
  fresh_ = false;
  call_ = 0;
  deviating_ = 0;
  position_ = 0;
  log_.clear();
  return true;
}

unsigned chooser::choose(unsigned count, choice kind) {
  if (count <= 1) return 0;
  unsigned option = 0;
  switch (mode_) {
    case mode::systematic: option = systematically(count); break;
    case mode::random: option = randomly(count, kind); break;
    case mode::repeating: option = std::min(repeating(), count - 1); break;
  }
  if (option != 0) log_.push_back({call_, option, count});
  ++call_;
  return option;
}

unsigned chooser::systematically(unsigned count) {
  if (deviating_ == deviations_max_) {
    cut_ = true;
    return 0;
  }
  if (position_ == trail_.size()) trail_.push_back({call_, 0, count});
  const unsigned option = trail_[position_++].option;
  if (option != 0) ++deviating_;
  return option;
}

// Some executions deviate often, everywhere; the others at a few points, where threads then stall for long.
void chooser::draw_style() {
  constexpr unsigned often[] = {2, 4, 8, 16};
  drawn_.clear();
  one_in_ = 0;
  if (random_() % 2 == 0) {
    one_in_ = often[random_() % 4];
    return;
  }
  for (std::uint64_t i = 2 + random_() % 5; i > 0; --i)
    drawn_.push_back(static_cast<unsigned>(random_() % last_calls_));
}

unsigned chooser::randomly(unsigned count, choice kind) {
  if (one_in_ == 0) {
    const bool now = std::find(drawn_.begin(), drawn_.end(), call_) != drawn_.end();
    return now ? 1 + static_cast<unsigned>(random_() % (count - 1)) : 0;
  }
  if (kind == choice::next) return static_cast<unsigned>(random_() % count);
  return random_() % one_in_ == 0 ? 1 + static_cast<unsigned>(random_() % (count - 1)) : 0;
}

unsigned chooser::repeating() const {
  for (const taken& each : trail_) {
    if (each.call == call_) return each.option;
  }
  return 0;
}

std::string chooser::deviations() const {
  std::string text;
  for (const taken& each : log_) text += fmt::format("{}{}:{}", text.empty() ? "" : " ", each.call, each.option);
  return text;
}

}  // namespace weft::model
