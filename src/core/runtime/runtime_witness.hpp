// SPDX-License-Identifier: BSD-3-Clause
// What a runtime knows for the report of a process in which nothing moves (base/standstill.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "base/standstill.hpp"
#include "net/ring/sleep_word.hpp"

namespace weft::core {

class runtime_state;

class runtime_witness final : public base::witness {
 public:
  explicit runtime_witness(runtime_state& of) noexcept : of_{&of} {}

  [[nodiscard]] sight look() noexcept override;
  [[nodiscard]] bool is_neglected(base::clock::time_point now, base::clock::duration patience) noexcept override;
  void note_move() noexcept override;
  void describe(base::report& into) override;
  void add_counters(base::report& into) override;

 private:
  void describe_devices(base::report& into);
  void describe_matching(base::report& into);
  void describe_operations(base::report& into);
  void describe_kept(base::report& into);
  void describe_ends(base::report& into);

  runtime_state* of_;
  sight last_;
  // At the beginning of the standstill.
  std::array<std::uint64_t, net::slots_max> calls_{};  // of each device
  std::uint64_t retries_ = 0;
  // At the last looks: a device that no thread polls.
  struct unpolled_device {
    std::uint64_t calls = 0;
    base::clock::time_point since{};
    base::clock::duration neglected{};  // so long messages have waited there, more or less; 0: not too long
  };
  std::array<unpolled_device, net::slots_max> unpolled_{};
  base::witness_entry entry_{*this};
};

}  // namespace weft::core
