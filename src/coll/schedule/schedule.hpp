// SPDX-License-Identifier: BSD-3-Clause
// The steps of one rank in a collective, as data: an algorithm writes them down, and a graph carries them out, or a
// count goes through them without sending.
//
// Steps without an edge between them run in any order. Between two ranks messages match by their labels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace weft::coll {

/// The memory that a part of a step is in.
enum class location : std::uint8_t {
  input,
  output,
  scratch,  // `schedule::scratch_bytes` bytes of each run
};

/// Bytes `offset` to `offset + bytes - 1` of one memory.
struct part {
  coll::location location = coll::location::scratch;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
};

enum class action : std::uint8_t {
  send,     // `from` to rank `peer`
  receive,  // `into`, from rank `peer`
  reduce,   // into = from op into: the elements of `from` are those of lower ranks; or into = into op from
  copy,     // `from` to `into`
};

/// Names a step of a schedule; there is none before the first.
struct step_ref {
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t index = none;
};

struct step {
  coll::action action = coll::action::copy;
  bool is_into_lower = false;  // a reduction whose elements of `into` are those of lower ranks
  std::uint32_t peer = 0;      // its rank in the group
  std::uint32_t label = 0;     // the message's label, below `labels_max`
  part from;
  part into;
  std::uint32_t before_begin = 0;  // the steps before it, in `schedule::edges`
  std::uint32_t before_end = 0;
};

class schedule {
 public:
  /// Labels go into the tags of messages.
  static constexpr std::uint32_t labels_max = 1U << 12;

  /// Adds a step that begins after those before it; steps that are `none` don't count. **Errors**: std::bad_alloc.
  step_ref send(std::uint32_t peer, std::uint32_t label, part from, std::initializer_list<step_ref> before = {});
  step_ref receive(std::uint32_t peer, std::uint32_t label, part into, std::initializer_list<step_ref> before = {});
  step_ref reduce(part from, part into, std::initializer_list<step_ref> before = {});
  step_ref reduce_into_lower(part from, part into, std::initializer_list<step_ref> before = {});
  step_ref copy(part from, part into, std::initializer_list<step_ref> before = {});
  /// One more edge. `after` is the last step that was added.
  void add_edge(step_ref before, step_ref after);

  /// Takes `bytes` bytes of scratch memory, aligned for any element.
  part scratch(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::span<const step> steps() const noexcept { return steps_; }
  /// The indices of the steps before this one.
  [[nodiscard]] std::span<const std::uint32_t> before(const step& step) const noexcept {
    return std::span{edges_}.subspan(step.before_begin, step.before_end - step.before_begin);
  }
  [[nodiscard]] std::uint64_t scratch_bytes() const noexcept { return scratch_bytes_; }

 private:
  step_ref add(const step& made, std::initializer_list<step_ref> before);

  std::vector<step> steps_;
  std::vector<std::uint32_t> edges_;
  std::uint64_t scratch_bytes_ = 0;
};

/// The first `bytes` bytes of a part, and those from `offset` on.
[[nodiscard]] constexpr part sub(part whole, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return {whole.location, whole.offset + offset, bytes};
}

}  // namespace weft::coll
