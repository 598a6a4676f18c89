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

/// What has bytes of its own to send or receive: not a container of references to other bytes, which is a list.
template <class Container>
concept byte_container =
    std::is_trivially_copyable_v<element_of<Container>> && !std::is_pointer_v<std::remove_reference_t<Container>> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, const_buffer_ref> &&
    !std::is_same_v<std::remove_cv_t<element_of<Container>>, buffer_ref>;

}  // namespace detail

/// Memory that an operation only reads. Implicit from a span of bytes and from any contiguous container of trivially
/// copyable elements (a vector, an array, a string_view), whose elements it then sends as they lie in memory.
///
/// **Buffer**: refers to memory, doesn't own it. Who may touch that memory when is the operation's rule.
class const_buffer_ref {
 public:
  constexpr const_buffer_ref() noexcept = default;

  /// `bytes` bytes from `address` on.
  constexpr const_buffer_ref(const void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  /// All elements of `container`, which goes no earlier than the operation.
  template <detail::byte_container Container>
  constexpr const_buffer_ref(const Container& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<const Container>)} {}

  /// Null where there is nothing.
  [[nodiscard]] constexpr const void* address() const noexcept { return address_; }
  /// The size.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  const void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Memory that an operation writes. Implicit from a span of bytes and from any contiguous container of trivially
/// copyable elements that can be written.
///
/// **Buffer**: refers to memory, doesn't own it. Who may touch that memory when is the operation's rule.
class buffer_ref {
 public:
  constexpr buffer_ref() noexcept = default;

  /// `bytes` bytes from `address` on.
  constexpr buffer_ref(void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  /// All elements of `container`, which goes no earlier than the operation.
  template <class Container>
  requires(detail::byte_container<Container> && !std::is_const_v<detail::element_of<Container>>)  //
      constexpr buffer_ref(Container&& container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(detail::element_of<Container>)} {}

  /// The same memory, to be read.
  constexpr operator const_buffer_ref() const noexcept { return {address_, bytes_}; }

  /// Null where there is nothing.
  [[nodiscard]] constexpr void* address() const noexcept { return address_; }
  /// The size.
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Several buffers that make up one message, in their order.
///
/// **Buffer**: refers to an array of references. That array, like the memory it refers to, stays as it is until the
/// operation is complete.
template <class Buffer>
class basic_buffer_list {
 public:
  /// Refers to `buffers`, which is not copied.
  constexpr basic_buffer_list(std::span<const Buffer> buffers) noexcept : buffers_{buffers} {}

  /// What it was made of.
  [[nodiscard]] constexpr std::span<const Buffer> buffers() const noexcept { return buffers_; }

  /// All of them together; where the sum is too large to tell, the largest number.
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

/// What a message is gathered from.
using const_buffer_list = basic_buffer_list<const_buffer_ref>;
/// What a message is scattered to.
using buffer_list = basic_buffer_list<buffer_ref>;

/// Where the bytes of a large active message are to lie at their target: named by the completion object's
/// registration, asked once for each such message.
class buffer_allocator {
 public:
  virtual ~buffer_allocator() = default;

  /// Memory for a message of `bytes` bytes from rank `source` with tag `tag`, or null for "not now": then the message
  /// waits, and this is asked again. What comes behind it goes on, as long as there is room to put such messages aside.
  ///
  /// **Blocking**: may not block. **Threads**: called by any thread that makes progress. **Errors**: may not throw.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::uint32_t source, std::uint64_t tag) noexcept = 0;

  /// Takes memory of `allocate` back, when the record that owned it goes. **Threads**: called by any thread.
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;
};

}  // namespace weft
