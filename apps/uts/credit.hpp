#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

namespace weft_uts {

// A rank that has work has credit, one half to the power of a number, and so has each message that carries work. All
// credit together is 1: when rank 0 has all of it back, there is no work left anywhere (Mattern's algorithm).
using credit_power = std::uint64_t;

// Credits that are given back are added up exactly, however small the parts are: a binary fraction, bit by bit.
class credit_sum {
 public:
  void add(credit_power power) {
    if (power > power_max) throw std::runtime_error{"weft-uts: a rank gave back credit that nobody can have"};
    if (power >= bits_.size()) bits_.resize(power + 1);
    for (; bits_[power]; --power) {
      if (power == 0) throw std::runtime_error{"weft-uts: ranks gave back more credit than there is"};
      bits_[power] = false;
    }
    bits_[power] = true;
  }
  [[nodiscard]] bool is_one() const { return bits_[0]; }

 private:
  // Each steal halves credit: far more of them than a search can have.
  static constexpr credit_power power_max = credit_power{1} << 32;

  std::vector<bool> bits_ = {false};  // the first is 1, the next 1/2, and so on
};

}  // namespace weft_uts
