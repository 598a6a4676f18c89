// SPDX-License-Identifier: BSD-3-Clause
// Buffers that operations read and write: an address, a size in bytes, and the memory that the bytes lie in, if that is
// not ordinary memory; and lists of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

class const_buffer_ref;
class buffer_ref;
class memory;

namespace detail {

/// A buffer in ordinary memory, for fast paths: it goes in two registers.
struct ordinary_bytes {
  const void* address;
  std::size_t bytes;
};
struct ordinary_buffer {
  void* address;
  std::size_t bytes;
  constexpr operator ordinary_bytes() const noexcept { return {address, bytes}; }
};

template <class Container>
using element_of = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>;

/// A container that has bytes of its own to send or receive. A container of references to other bytes is a list.
template <class Container>
concept byte_container =
    std::is_trivially_copyable_v<element_of<Container>> && !std::is_pointer_v<std::remove_reference_t<Container>> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, const_buffer_ref> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, buffer_ref>;

/// A byte container whose elements can be written.
template <class Container>
concept writable_container = byte_container<Container> && !std::is_const_v<element_of<Container>>;

/// Whether the bytes of an argument outlive it: it is no temporary, or a view, which refers to memory of others.
template <class Argument>
inline constexpr bool outlives_call =
    std::is_lvalue_reference_v<Argument&&> || std::ranges::enable_borrowed_range<std::remove_cvref_t<Argument>>;

template <class Argument>
constexpr void refuse_temporary() noexcept {
  static_assert(outlives_call<Argument>,
                "the buffer is a temporary, which ends before the operation: keep it in a variable until the operation "
                "is complete (a view of other memory sets std::ranges::enable_borrowed_range)");
}

template <class Argument>
inline constexpr bool is_literal = false;
template <std::size_t Size>
inline constexpr bool is_literal<const char (&)[Size]> = true;

/// One value, and no container: refused with a message.
template <class Argument>
concept single_value = std::is_scalar_v<Argument> ||(
    std::is_aggregate_v<Argument>&& std::is_trivially_copyable_v<Argument> &&
    !requires(const Argument& value) { std::data(value); } &&
    !requires(const Argument& value) { value.operator const_buffer_ref(); });

}  // namespace detail

/// Memory that an operation only reads. Implicit from a span of bytes and from any contiguous container of trivially
/// copyable elements (a vector, an array, a string_view), whose elements are sent as they lie in memory.
///
/// **Buffer**: refers to memory, doesn't own it; the operation says when the caller may touch that memory.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
class const_buffer_ref {
 public:
  constexpr const_buffer_ref() noexcept = default;

  /// `bytes` bytes from `address` on.
  constexpr const_buffer_ref(const void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  /// `bytes` bytes of `memory` (memory.hpp), which must live until the operation is complete.
  constexpr const_buffer_ref(const void* address, std::size_t bytes, const weft::memory& memory) noexcept
      : address_{address}, bytes_{bytes}, memory_{&memory} {}
  const_buffer_ref(const void*, std::size_t, const weft::memory&&) = delete;  // the memory ends before the operation

  /// All elements of `container`, which must live until the operation is complete. Does not compile for a temporary
  /// that owns its elements, nor for a string literal, whose last element is a NUL.
  template <class Container>
  requires detail::byte_container<std::remove_reference_t<Container>>  //
  constexpr const_buffer_ref(Container&& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<Container>)} {
    detail::refuse_temporary<Container>();
    static_assert(
        !detail::is_literal<Container>,
        "a string literal ends in a NUL, which would be sent: write std::string_view{\"text\"}; of an array of "
        "characters, std::span{array}");
  }

  /// Does not compile: says what to write instead of one value.
  template <detail::single_value Value>
  constexpr const_buffer_ref(const Value& /*value*/) noexcept {
    static_assert(!detail::single_value<Value>,
                  "a buffer is a view or container of trivially copyable elements: for one value, write "
                  "std::span{&value, 1}; for an address, {address, bytes}");
  }

  /// The first byte; null if there is none.
  [[nodiscard]] constexpr const void* address() const noexcept { return address_; }
  /// The size in bytes.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }
  /// The memory that the bytes lie in; null for ordinary memory.
  [[nodiscard]] constexpr const weft::memory* memory() const noexcept { return memory_; }

 private:
  const void* address_ = nullptr;
  std::size_t bytes_ = 0;
  const weft::memory* memory_ = nullptr;
};

/// Memory that an operation writes. Implicit from a span of bytes and from any contiguous container of trivially
/// copyable elements that can be written.
///
/// **Buffer**: refers to memory, doesn't own it; the operation says when the caller may touch that memory.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
class buffer_ref {
 public:
  constexpr buffer_ref() noexcept = default;

  /// `bytes` bytes from `address` on.
  constexpr buffer_ref(void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  /// `bytes` bytes of `memory` (memory.hpp), which must live until the operation is complete.
  constexpr buffer_ref(void* address, std::size_t bytes, const weft::memory& memory) noexcept
      : address_{address}, bytes_{bytes}, memory_{&memory} {}
  buffer_ref(void*, std::size_t, const weft::memory&&) = delete;  // the memory ends before the operation

  /// All elements of `container`, which must live until the operation is complete. Does not compile for a temporary
  /// that owns its elements.
  template <detail::writable_container Container>
  constexpr buffer_ref(Container&& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<Container>)} {
    detail::refuse_temporary<Container>();
  }

  /// Does not compile: says what to write instead of one value.
  template <detail::single_value Value>
  constexpr buffer_ref(const Value& /*value*/) noexcept {
    static_assert(!detail::single_value<Value>,
                  "a buffer is a view or container of trivially copyable elements: for one value, write "
                  "std::span{&value, 1}; for an address, {address, bytes}");
  }

  /// A reference to this memory that only reads.
  constexpr operator const_buffer_ref() const noexcept {
    return memory_ == nullptr ? const_buffer_ref{address_, bytes_} : const_buffer_ref{address_, bytes_, *memory_};
  }

  /// The first byte; null if there is none.
  [[nodiscard]] constexpr void* address() const noexcept { return address_; }
  /// The size in bytes.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }
  /// The memory that the bytes lie in; null for ordinary memory.
  [[nodiscard]] constexpr const weft::memory* memory() const noexcept { return memory_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
  const weft::memory* memory_ = nullptr;
};

namespace detail {

/// Names a buffer in ordinary memory.
[[nodiscard]] constexpr ordinary_bytes ordinary(const const_buffer_ref& buffer) noexcept {
  return {buffer.address(), buffer.bytes()};
}
[[nodiscard]] constexpr ordinary_buffer ordinary(const buffer_ref& buffer) noexcept {
  return {buffer.address(), buffer.bytes()};
}

}  // namespace detail

/// A list of more buffers is refused.
inline constexpr std::size_t buffer_list_pieces_max = 0xffff'fffe;

/// Several buffers that make up one message, in their order; at most `buffer_list_pieces_max`, and any of them may be
/// empty. A receive's list need not have the pieces of the send's.
///
/// Each list is walked once when it is posted and once more when its bytes are copied. Cost of a piece: some
/// nanoseconds; the bytes of a long list of short pieces pass through packets. Pieces that lie one behind the other in
/// memory cost as much as one.
///
/// **Buffer**: refers to an array of references. Keep that array, and the memory that it refers to, until the operation
/// is complete; the peer may read the array, too. After *done* both are the caller's again.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
template <class Buffer>
class basic_buffer_list {
 public:
  /// Refers to `buffers`, which is not copied.
  constexpr basic_buffer_list(std::span<const Buffer> buffers) noexcept : buffers_{buffers} {}
  /// Takes a container of buffers. Does not compile for a temporary, which would end before the operation.
  template <class Container>
  requires(std::is_convertible_v<Container, std::span<const Buffer>> &&
           !std::is_same_v<std::remove_cvref_t<Container>, std::span<const Buffer>>)  //
      constexpr basic_buffer_list(Container&& buffers) noexcept
      : buffers_{buffers} {
    static_assert(
        detail::outlives_call<Container>,
        "the list of buffers is a temporary, which ends before the operation: keep it in a variable until the "
        "operation is complete");
  }

  /// The array that it refers to.
  [[nodiscard]] constexpr std::span<const Buffer> buffers() const noexcept { return buffers_; }

  /// The sum of all sizes; if the sum overflows, the largest `std::size_t`.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept {
    std::size_t sum = 0;
    for (const Buffer& each : buffers_) {
      if (each.bytes() > ~std::size_t{0} - sum) return ~std::size_t{0};
      sum += each.bytes();
    }
    return sum;
  }

 private:
  std::span<const Buffer> buffers_;
};

/// Buffers from which a message is gathered.
using const_buffer_list = basic_buffer_list<const_buffer_ref>;
/// Buffers into which a message is scattered.
using buffer_list = basic_buffer_list<buffer_ref>;

/// Gives memory for received active messages that are longer than a packet. The receiver names the allocator when it
/// registers the completion object; the library asks it for memory for each such message.
///
/// The allocator must outlive every record whose memory it gave.
class buffer_allocator {
 public:
  virtual ~buffer_allocator() = default;

  /// Gives memory for a message of `bytes` bytes from rank `source` with tag `tag`, or null for "not now". After null
  /// the message waits, and the library asks again. Messages behind it arrive meanwhile, as long as the library has
  /// room to set waiting messages aside.
  ///
  /// **Blocking**: may not block. **Threads**: called by any thread that makes progress, several at once. **Buffer**:
  /// the library's until it calls `deallocate`. **Errors**: may not throw.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::uint32_t source, std::uint64_t tag) noexcept = 0;

  /// Takes memory of `allocate` back. The library calls it when the record that owns the memory is destroyed.
  ///
  /// **Blocking**: may not block. **Threads**: called by any thread, several at once. **Errors**: may not throw.
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;

  /// The memory that `allocate` gives, if it is not ordinary; asked once, when the completion object is registered.
  ///
  /// **Blocking**: may not block. **Threads**: called by the thread that registers. **Errors**: may not throw.
  [[nodiscard]] virtual const weft::memory* memory() const noexcept { return nullptr; }
};

}  // namespace weft
