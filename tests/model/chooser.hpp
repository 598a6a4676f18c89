// SPDX-License-Identifier: BSD-3-Clause
// Which way an execution goes wherever it could go several: the first is the plain one, every other a deviation.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace weft::model {

enum class choice : std::uint8_t { preempt, next, value };

class chooser {
 public:
  /// All executions with at most `deviations_max` deviations, one after the other.
  void search_systematically(unsigned deviations_max);
  void search_randomly(std::uint64_t seed);
  /// The one execution that `deviations` describes.
  void repeat(const std::string& deviations);

  /// Before each execution; false if there is no other.
  bool begin();
  /// Below `count`, zero being the plain way.
  unsigned choose(unsigned count, choice kind);

  /// The deviations of the last execution, as `repeat` takes them: "17:1 45:2", number of the choice and what was
  /// taken.
  [[nodiscard]] std::string deviations() const;
  /// Did the bound on deviations keep any execution out?
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  enum class mode : std::uint8_t { systematic, random, repeating };
  struct taken {
    unsigned call;
    unsigned option;
    unsigned count;
  };

  unsigned systematically(unsigned count);
  unsigned randomly(unsigned count, choice kind);
  unsigned repeating() const;
  void draw_style();

  mode mode_ = mode::systematic;
  unsigned deviations_max_ = 0;
  unsigned call_ = 0;
  unsigned deviating_ = 0;
  bool fresh_ = true;
  bool cut_ = false;
  std::vector<taken> trail_;  // systematic: the choices with several options, so far as they were free
  std::size_t position_ = 0;  // in it
  std::vector<taken> log_;    // the deviations
  std::mt19937_64 random_;
  unsigned last_calls_ = 64;
  unsigned one_in_ = 0;  // random style: how often to deviate; 0: only at the drawn calls
  std::vector<unsigned> drawn_;
};

}  // namespace weft::model
