// SPDX-License-Identifier: BSD-3-Clause
// Kinds of memory: the table of all kinds of the process, and the copies by their functions.
//
// Cost of a copy: for a layout one call of the user's function; for another kind two locked operations more
// (kind_gate.hpp), as for each look at it by a post. Ordinary memory does not come here.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/memory/kind_gate.hpp"
#include "weft/memory.hpp"

namespace weft::core {

/// One place in the table. It lives as long as the process: an operation may still name a kind that has ended.
struct kind_state {
  kind_gate gate;
  // Written before the gate opens; read inside it, by the thread that makes or ends the kind, or under the table's
  // lock.
  std::uint32_t number = 0;   // 0: free
  std::uint64_t runtime = 0;  // the number of its runtime
  std::string_view name;
  memory_functions functions;
};

/// Why a post refuses a buffer.
enum class memory_refusal : std::uint8_t {
  none,
  ended,      // its kind has ended
  foreign,    // its kind is another runtime's
  unaligned,  // its address is no multiple of the kind's alignment
  unnamed,    // it is of a kind that it does not name
};

/// A refusal, and the kind that it is about.
struct refused_memory {
  memory_refusal why = memory_refusal::none;
  std::string_view kind;
};

/// The kinds of one runtime.
class memory_kinds {
 public:
  memory_kinds() noexcept;

  /// Makes a kind. Null: there are `kinds_max` already.
  [[nodiscard]] kind_state* try_make(std::string_view name, const memory_functions& functions) noexcept;
  /// Ends it; waits until its functions have returned.
  void end(kind_state& kind) noexcept;

  /// Whether posts have to ask kinds for addresses, as one of this runtime's has `contains`. **Threads**: any.
  [[nodiscard]] bool knows_addresses() const noexcept {
    return knowing_.load(std::memory_order_relaxed) != 0;  // [hint] a kind that is made meanwhile knows nothing older
  }
  /// Whether an operation of this runtime may use the `bytes` bytes at `address` of the memory `memory`; null:
  /// ordinary.
  [[nodiscard]] refused_memory check(const memory* memory, const void* address, std::uint64_t bytes) const noexcept;

  static constexpr std::size_t kinds_max = 64;

 private:
  [[nodiscard]] refused_memory find_unnamed(const void* address, std::uint64_t bytes) const noexcept;

  std::uint64_t number_;                   // number of the runtime
  std::atomic<std::uint32_t> knowing_{0};  // kinds that have `contains`
};

/// Copies between ordinary memory and other memory. Each answers whether all bytes were copied; if not, the log says
/// why, once for each kind.
struct memory_copies {
  [[nodiscard]] static bool copy_out(const memory& memory, const void* address, std::uint64_t offset, std::byte* to,
                                     std::size_t bytes) noexcept;
  [[nodiscard]] static bool copy_in(const memory& memory, void* address, std::uint64_t offset, const std::byte* from,
                                    std::size_t bytes) noexcept;

  /// Whether it is a layout that is ordinary memory all the same.
  [[nodiscard]] static bool is_ordinary(const memory& memory) noexcept;
  /// Whether it is a layout: its buffers may have a null address.
  [[nodiscard]] static bool is_layout(const memory& memory) noexcept { return memory.kind_ == nullptr; }
  /// Whether the system copies by the address, for this rank and for peers. False once the kind has ended.
  [[nodiscard]] static bool is_for_peers(const memory& memory) noexcept;
  /// Asks it for a part of a buffer from `address` on, which posts refuse if it is not aligned.
  [[nodiscard]] static bool is_for_peers(const memory& memory, const void* address) noexcept;
  [[nodiscard]] static std::string_view kind_of(const memory& memory) noexcept;

 private:
  friend class memory_kinds;
  [[nodiscard]] static std::uint32_t number_of(const memory& memory) noexcept {
    return static_cast<std::uint32_t>(memory.number_);
  }
  template <class Look>
  static void look(const memory& memory, const Look& look_at) noexcept;
  template <class Copy>
  [[nodiscard]] static bool run(const memory& memory, std::size_t bytes, const Copy& copy) noexcept;
  template <class Copy>
  [[nodiscard]] static bool in_kind(const memory& memory, std::size_t bytes, const Copy& copy) noexcept;
};

}  // namespace weft::core
