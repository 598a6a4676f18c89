// SPDX-License-Identifier: BSD-3-Clause
// Memory that is not ordinary: kinds of memory, such as a device's, which a processor can't simply copy; and layouts,
// whose bytes do not lie side by side. A buffer names the memory that its bytes lie in (buffer.hpp).
//
// A message from or to such memory is copied by the functions of its kind straight into and out of cells and packets:
// one copy at each side, at every size.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/buffer.hpp"

namespace weft {

class runtime;
class memory;

namespace core {
struct kind_state;
struct memory_copies;
}  // namespace core

/// What a kind of memory can do. The library copies the functions' addresses.
///
/// The functions: **Blocking**: they may not wait for other threads of the program, as progress waits for them.
/// **Threads**: any thread that posts or makes progress calls them, several at once. They may not call Weft.
/// **Errors**: a function that throws, or that answers another number than it was asked for, fails the operation with
/// `memory_failed` (docs/memory.md).
struct memory_functions {
  /// Copies bytes `offset` to `offset + bytes - 1` of the buffer at `address` to `to`, which is ordinary memory.
  /// Answers how many bytes it has copied. May be null where `processor_may_touch`.
  std::size_t (*copy_out)(const memory& memory, const void* address, std::uint64_t offset, std::byte* to,
                          std::size_t bytes) = nullptr;
  /// Copies `bytes` bytes from `from` into the buffer at `address`, from its byte `offset` on. Answers how many. May be
  /// null where `processor_may_touch`.
  std::size_t (*copy_in)(const memory& memory, void* address, std::uint64_t offset, const std::byte* from,
                         std::size_t bytes) = nullptr;
  /// Whether one of the `bytes` bytes at `address` is of this kind. If it is not null, posts refuse buffers of this
  /// kind that do not name their memory. Each post of the runtime asks it then, and none takes the shortest path.
  bool (*contains)(void* context, const void* address, std::size_t bytes) = nullptr;
  void* context = nullptr;           ///< handed to `contains`
  bool processor_may_touch = false;  ///< the library may copy by itself
  bool peers_may_copy = false;       ///< the operating system may copy for this rank and for peers, by the address
  std::size_t alignment = 1;         ///< buffers whose address is no multiple of it are refused; a power of two
};

/// Registers a kind of memory with a runtime, which must outlive it.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class memory_kind {
 public:
  /// `name` is for error messages and records; the text must live as long as the runtime. **Blocking**: briefly, for a
  /// lock. **Errors**: `invalid_argument` for an empty name, for null functions where a processor may not touch the
  /// memory, and for an alignment that is no power of two; `invalid_state` beyond 64 kinds at once in the process.
  memory_kind(weft::runtime& owner, std::string_view name, const memory_functions& functions);
  template <class WriteRuntimeNameAndMembersInOrderOf = memory_functions>
  explicit memory_kind(...) = delete;  // write a runtime, a name, and members of memory_functions in their order
  /// Later posts with this kind are refused, and operations under way that still need a function of it fail with
  /// `memory_failed`. **Blocking**: until functions return that other threads are calling. **Threads**: not inside a
  /// function of the kind.
  ~memory_kind();

  memory_kind(const memory_kind&) = delete;
  memory_kind& operator=(const memory_kind&) = delete;

  /// The name that it was made with.
  [[nodiscard]] std::string_view name() const noexcept;

 private:
  friend class memory;
  weft::runtime* runtime_;
  core::kind_state* state_;
};

/// Memory of one kind, which buffers name. Several buffers may name one object, from several threads.
///
/// **Buffer**: must live until all operations with its buffers are complete.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
class memory {
 public:
  /// Memory of this kind. `context` is for the functions of the kind, which find it in `context()`.
  explicit memory(const memory_kind& kind, void* context = nullptr) noexcept;
  template <class WriteKindAndContext = memory_kind>
  explicit memory(...) = delete;  // write a kind of memory, and a context

  memory(const memory&) = delete;
  memory& operator=(const memory&) = delete;

  /// The context that it was made with.
  [[nodiscard]] void* context() const noexcept { return context_; }
  /// The name of the kind, `layout` for layouts; `ended` if the kind has ended.
  [[nodiscard]] std::string_view kind() const noexcept;

 protected:
  /// Made by `layout`, which is no kind.
  struct of_layout {};
  /// Made by `layout`.
  memory(of_layout /*which*/, void* context) noexcept : context_{context} {}

 private:
  friend struct core::memory_copies;
  core::kind_state* kind_ = nullptr;  // null: a layout
  std::uint64_t number_ = 0;          // number of the kind
  void* context_;
};

/// The functions of a layout, which MPI calls a datatype and UCX a generic one. They get the layout's context, the
/// buffer's address, and a part of the message: any bytes from any offset on, also in any order and several parts at
/// once.
///
/// **Blocking**, **Threads** and **Errors**: as for `memory_functions`.
struct layout_functions {
  /// Copies bytes `offset` to `offset + bytes - 1` of the message to `to`. Answers how many it has copied.
  std::size_t (*pack)(const void* context, const void* address, std::uint64_t offset, std::byte* to,
                      std::size_t bytes) = nullptr;
  /// Copies `bytes` bytes from `from` to where byte `offset` of the message and those behind it belong. Answers how
  /// many.
  std::size_t (*unpack)(const void* context, void* address, std::uint64_t offset, const std::byte* from,
                        std::size_t bytes) = nullptr;
};

/// A type with functions of a layout: `pack(address, offset, to, bytes)` and `unpack(address, offset, from, bytes)`.
template <class Shape>
concept layout_shape = requires(const Shape& shape, void* address, std::uint64_t offset, std::byte* part,
                                std::size_t bytes) {
  { shape.pack(static_cast<const void*>(address), offset, part, bytes) } -> std::same_as<std::size_t>;
  { shape.unpack(address, offset, static_cast<const std::byte*>(part), bytes) } -> std::same_as<std::size_t>;
};

/// Bytes that do not lie side by side, in ordinary memory: functions of the user's pack and unpack them. A buffer with
/// a layout has the address that the functions get, which may be null, and the size of the packed bytes.
///
/// Every runtime knows layouts. Cost: a call for each cell or packet. Peers never read or write such a buffer by
/// themselves, so a long message needs progress of both ranks.
///
/// **Buffer**: must live, as its context, until all operations with its buffers are complete.
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class layout : public memory {
 public:
  /// A layout with these functions. **Errors**: `invalid_argument` for null functions.
  explicit layout(const layout_functions& functions, const void* context = nullptr);
  /// Takes the functions of `shape`, which must live as long.
  template <layout_shape Shape>
  explicit layout(const Shape& shape)
      : layout{
            {.pack =
                 [](const void* context, const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) {
                   return static_cast<const Shape*>(context)->pack(address, offset, to, bytes);
                 },
             .unpack =
                 [](const void* context, void* address, std::uint64_t offset, const std::byte* from,
                    std::size_t bytes) {
                   return static_cast<const Shape*>(context)->unpack(address, offset, from, bytes);
                 }},
            &shape} {}
  template <layout_shape Shape>
  explicit layout(const Shape&&) = delete;  // the shape ends before the operation

  /// The layout of bytes that lie side by side after all.
  struct contiguous {};
  /// A layout whose buffers are ordinary ones: no function is called.
  explicit layout(contiguous /*all*/) noexcept;
  template <class WriteShapeWithConstPackAndUnpackOrMembersInOrderOf = layout_functions>
  explicit layout(...) = delete;  // write an object with const pack and unpack, or members of layout_functions

  /// Whether its bytes lie side by side.
  [[nodiscard]] bool is_contiguous() const noexcept { return functions_.pack == nullptr; }

 private:
  friend struct core::memory_copies;
  layout_functions functions_;
};

}  // namespace weft
