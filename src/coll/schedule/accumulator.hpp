// SPDX-License-Identifier: BSD-3-Clause
// The value that a rank has reduced so far: its own input, then also values that it receives from the ranks just below
// or above. So the operands stay in the order of ranks, and an operation need not be commutative.
#pragma once

#include <array>
#include <cstdint>

#include "coll/schedule/ordered.hpp"
#include "coll/schedule/schedule.hpp"

namespace weft::coll {

/// Bytes of a value, from its begin.
struct range {
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
};

/// The reduced value is where a reduction left it: in the result, or in the input if that may be written. It takes at
/// most three scratch buffers as long as the first message.
class accumulator {
 public:
  /// The value that a rank begins with, and the memory that it is to end in.
  struct operands {
    part input;
    bool may_write_input = false;
    part result{};  // empty: anywhere
  };

  accumulator(ordered& steps, const operands& initial) noexcept;

  /// Sends these bytes of the value. **Errors**: std::bad_alloc, as the other functions.
  void send(std::uint32_t peer, std::uint32_t label, range piece);
  /// Receives the value of other ranks, all lower or all higher ones, and reduces. The value is then `piece`, which
  /// lies in the last one.
  void receive(std::uint32_t peer, std::uint32_t label, range piece, bool is_lower);
  /// The memory of these bytes of the value.
  [[nodiscard]] part value(range piece) const noexcept { return part_of(buffers_[value_], piece); }
  /// Copies these bytes to the result if they are elsewhere; the value is there then.
  void finish(range piece, range whole);
  /// The memory of these bytes in the result, which is scratch memory for `whole` if no other was given.
  [[nodiscard]] part result(range piece, range whole);

 private:
  struct buffer {
    part bytes;
    std::uint64_t begin = 0;  // the first of its bytes, counted in the value
    bool is_made = false;
  };
  static constexpr std::uint32_t own = 0, kept = 1, first_scratch = 2, buffer_count = 5;

  static part part_of(const buffer& memory, range piece) noexcept {
    return sub(memory.bytes, piece.begin - memory.begin, piece.bytes);
  }
  buffer& make(std::uint32_t index, range piece);
  [[nodiscard]] std::uint32_t next_scratch() noexcept;

  ordered& steps_;
  std::array<buffer, buffer_count> buffers_{};
  std::uint32_t value_ = own;
  std::uint32_t last_ = first_scratch;
  bool may_write_;
  bool has_result_;
};

}  // namespace weft::coll
