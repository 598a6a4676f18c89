// SPDX-License-Identifier: BSD-3-Clause
// The change of a word by a remote atomic. A processor of the target's machine makes it, in either process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/assertion.hpp"
#include "core/operation/atomic_command.hpp"
#include "weft/post_options.hpp"

namespace weft::core {

/// Operation and size of the word in one number, as it is sent.
[[nodiscard]] constexpr std::uint32_t atomic_code(atomic_op op, std::uint32_t bytes) noexcept {
  return static_cast<std::uint32_t>(op) | bytes << 8;
}

/// Whether `code`, which a peer has sent, is valid.
[[nodiscard]] inline bool is_atomic_code(std::uint32_t code) noexcept {
  return (code & 0xff) <= static_cast<std::uint32_t>(atomic_op::compare_and_swap) && (code >> 8 == 4 || code >> 8 == 8);
}

namespace remote_atomic {

template <class Word>
Word apply(Word* target, atomic_op op, Word operand, Word compare) noexcept {
  const std::atomic_ref<Word> word{*target};
  switch (op) {
    // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
    case atomic_op::fetch_add: return word.fetch_add(operand, std::memory_order_acq_rel);
    // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
    case atomic_op::fetch_and: return word.fetch_and(operand, std::memory_order_acq_rel);
    // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
    case atomic_op::fetch_or: return word.fetch_or(operand, std::memory_order_acq_rel);
    // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
    case atomic_op::fetch_xor: return word.fetch_xor(operand, std::memory_order_acq_rel);
    // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
    case atomic_op::swap: return word.exchange(operand, std::memory_order_acq_rel);
    case atomic_op::compare_and_swap: break;
  }
  // [remote_atomic.word] acq_rel -> [remote_atomic.word]: as the user's own atomics on it.
  static_cast<void>(word.compare_exchange_strong(compare, operand, std::memory_order_acq_rel));
  return compare;
}

}  // namespace remote_atomic

/// Does `command`, whose code is valid, to the word at `target`, which is aligned, and returns the old value.
[[nodiscard]] inline std::uint64_t apply_atomic(std::byte* target, const atomic_command& command) noexcept {
  WEFT_ASSERT_CHECKED(is_atomic_code(command.code));
  WEFT_ASSERT_CHECKED(reinterpret_cast<std::uintptr_t>(target) % (command.code >> 8) == 0);
  const auto op = static_cast<atomic_op>(command.code & 0xff);
  if (command.code >> 8 == 4) {
    return remote_atomic::apply(reinterpret_cast<std::uint32_t*>(target), op,
                                static_cast<std::uint32_t>(command.operand),
                                static_cast<std::uint32_t>(command.compare));
  }
  return remote_atomic::apply(reinterpret_cast<std::uint64_t*>(target), op, command.operand, command.compare);
}

}  // namespace weft::core
