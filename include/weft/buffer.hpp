// Buffers that an operation reads: an address and a size in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>

namespace weft {

/// Memory that an operation only reads. Implicit from a span of bytes and from any contiguous container of trivially
/// copyable elements (a vector, an array, a string_view), whose elements it then sends as they lie in memory.
///
/// **Buffer**: refers to memory, doesn't own it. Who may touch that memory when is the operation's rule.
class const_buffer_ref {
 public:
  constexpr const_buffer_ref() noexcept = default;

  /// `bytes` bytes from `address` on.
  constexpr const_buffer_ref(const void* address, std::size_t bytes) noexcept : address_{address}, bytes_{bytes} {}

  template <class Container, class Element = std::remove_pointer_t<decltype(std::data(std::declval<Container&>()))>>
  requires(std::is_trivially_copyable_v<Element> &&
           !std::is_pointer_v<std::remove_reference_t<Container>>) constexpr const_buffer_ref(const Container&
                                                                                                  container) noexcept
      : address_{std::data(container)}, bytes_{std::size(container) * sizeof(Element)} {}

  [[nodiscard]] constexpr const void* address() const noexcept { return address_; }
  [[nodiscard]] constexpr std::size_t bytes() const noexcept { return bytes_; }

 private:
  const void* address_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Where the bytes of a large active message are to lie at their target: named by the completion object's
/// registration, asked once for each such message.
class buffer_allocator {
 public:
  virtual ~buffer_allocator() = default;

  /// Memory for a message of `bytes` bytes from rank `source` with tag `tag`, or null for "not now": then the device
  /// takes no further messages from that rank until a later call answers otherwise.
  ///
  /// **Blocking**: may not block. **Threads**: called by any thread that makes progress. **Errors**: may not throw.
  [[nodiscard]] virtual void* allocate(std::size_t bytes, std::uint32_t source, std::uint64_t tag) noexcept = 0;

  /// Takes memory of `allocate` back, when the record that owned it goes. **Threads**: called by any thread.
  virtual void deallocate(void* memory, std::size_t bytes) noexcept = 0;
};

}  // namespace weft
