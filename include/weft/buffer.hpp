// Buffers that operations read and write: an address and a size in bytes; and lists of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

class const_buffer_ref;
class buffer_ref;

namespace detail {

template <class Container>
using element_of = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>;

/// A container that has bytes of its own to send or receive. A container of references to other bytes is a list.
template <class Container>
concept byte_container =
    std::is_trivially_copyable_v<element_of<Container>> && !std::is_pointer_v<std::remove_reference_t<Container>> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, const_buffer_ref> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, buffer_ref>;

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

  /// All elements of `container`, which must live until the operation is complete.
  template <detail::byte_container Container>
  constexpr const_buffer_ref(const Container& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<const Container>)} {}

  /// The first byte; null if there is none.
  [[nodiscard]] constexpr const void* address() const noexcept { return address_; }
  /// The size in bytes.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  const void* address_ = nullptr;
  std::size_t bytes_ = 0;
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

  /// All elements of `container`, which must live until the operation is complete.
  template <class Container>
  requires(detail::byte_container<Container> && !std::is_const_v<detail::element_of<Container>>)  //
      constexpr buffer_ref(Container&& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<Container>)} {}

  /// A reference to this memory that only reads.
  constexpr operator const_buffer_ref() const noexcept { return {address_, bytes_}; }

  /// The first byte; null if there is none.
  [[nodiscard]] constexpr void* address() const noexcept { return address_; }
  /// The size in bytes.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Several buffers that make up one message, in their order.
///
/// **Buffer**: refers to an array of references. Keep that array, and the memory that it refers to, until the operation
/// is complete.
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
template <class Buffer>
class basic_buffer_list {
 public:
  /// Refers to `buffers`, which is not copied.
  constexpr basic_buffer_list(std::span<const Buffer> buffers) noexcept : buffers_{buffers} {}

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
};

}  // namespace weft
