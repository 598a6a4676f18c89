// The tags of a group's messages: the group's name, the number of the collective, and the label of the step.
#pragma once

#include <cstdint>

#include "coll/group_names.hpp"

namespace weft::coll {

/// **Threads**: one at a time.
class group_tags {
 public:
  /// Of how many collectives tags are different. A member that is so far ahead of another one has to wait for it.
  static constexpr std::uint32_t numbers = 1U << 12;

  explicit group_tags(group_name of) noexcept
      : name_{(std::uint64_t{of.leader} << group_name::number_bits | of.number) << (label_bits + number_bits)} {}

  /// The tags of the next collective, without a label.
  [[nodiscard]] std::uint64_t take() noexcept {
    return name_ | std::uint64_t{next_number_++ & (numbers - 1)} << label_bits;
  }
  /// Whether the next collective is to be preceded by a barrier, which keeps members less than `numbers` apart.
  [[nodiscard]] bool want_barrier() const noexcept { return (next_number_ & (numbers / 4 - 1)) == numbers / 4 - 1; }

 private:
  static constexpr unsigned label_bits = 12;
  static constexpr unsigned number_bits = 12;
  static_assert(numbers == 1U << number_bits);
  static_assert(group_name::leader_bits + group_name::number_bits + label_bits + number_bits == 64);

  std::uint64_t name_;
  std::uint32_t next_number_ = 0;
};

}  // namespace weft::coll
