// SPDX-License-Identifier: BSD-3-Clause
// A kind of memory for tests: no processor may touch its pages but in the functions of the kind. So a test finds each
// path that would touch a device's memory by an ordinary access or a system call, on a machine without a device.
//
// It is also the example of how a kind is written: src/test/guarded_memory.cpp has the functions of the kind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/buffer.hpp"
#include "weft/memory.hpp"

namespace weft::test {

/// Options of `guarded_memory`.
struct guarded_memory_options {
  /// Whether posts refuse its addresses in buffers that do not name `memory()`, as memory regions do. Then none of the
  /// runtime takes the shortest path. False: such a post ends in SIGSEGV.
  bool knows_addresses = true;
};

/// Guarded memory of one size, and its kind. Its pages are mapped twice. Buffers have addresses of the first view,
/// where a load or store ends in SIGSEGV, and a system call in EFAULT. The functions of the kind, `write` and `read`
/// use the second view, whose address only they know.
///
/// A copy beyond the memory fails, so that its operation has the error `memory_failed`. It is one of the 64 kinds of
/// the process.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any. **Errors**: none.
class guarded_memory {
 public:
  /// `bytes` zero bytes for posts of `owner`, which must outlive this object. **Blocking**: briefly. **Errors**:
  /// `invalid_argument` for 0 bytes; `out_of_memory`; those of `memory_kind`.
  guarded_memory(weft::runtime& owner, std::size_t bytes, const guarded_memory_options& options = {});
  template <class WriteRuntimeSizeAndMembersInOrderOf = guarded_memory_options>
  explicit guarded_memory(...) = delete;  // write a runtime, a size in bytes, and members of guarded_memory_options
  /// Ends the kind. **Blocking**: as the destructor of `memory_kind`. **Buffer**: no operation may use the memory.
  ~guarded_memory() = default;
  guarded_memory(const guarded_memory&) = delete;
  guarded_memory& operator=(const guarded_memory&) = delete;

  /// The first byte, in the view that can't be touched.
  [[nodiscard]] std::byte* address() const noexcept { return pages_.guarded; }
  /// The size in bytes.
  [[nodiscard]] std::size_t bytes() const noexcept { return pages_.bytes; }
  /// What buffers name: `{guarded.address(), 100, guarded.memory()}`.
  [[nodiscard]] const weft::memory& memory() const noexcept { return memory_; }
  /// `bytes` bytes from `offset` on, for posts. **Errors**: `invalid_argument` for a range beyond the memory.
  [[nodiscard]] buffer_ref buffer(std::size_t offset, std::size_t bytes) const;

  /// Copies `from` into the memory, from `offset` on. **Threads**: none may be copying from or to these bytes.
  /// **Errors**: `invalid_argument` for a range beyond the memory.
  void write(std::size_t offset, std::span<const std::byte> from);
  /// Copies from the memory, from `offset` on. **Threads**, **Errors**: as for `write`.
  void read(std::size_t offset, std::span<std::byte> to) const;

  /// Bytes that the library has copied into the memory up to now, and out of it.
  [[nodiscard]] std::uint64_t copied_in() const noexcept { return taken_.load(std::memory_order_relaxed); }   // [stat]
  [[nodiscard]] std::uint64_t copied_out() const noexcept { return given_.load(std::memory_order_relaxed); }  // [stat]

 private:
  // The two views. They are made before the kind, and unmapped after its end.
  struct two_views {
    explicit two_views(std::size_t wanted);
    ~two_views();
    two_views(const two_views&) = delete;
    two_views& operator=(const two_views&) = delete;

    std::size_t bytes;
    std::byte* guarded = nullptr;
    std::byte* open = nullptr;
  };

  static std::size_t copy_out(const weft::memory& memory, const void* address, std::uint64_t offset, std::byte* to,
                              std::size_t bytes);
  static std::size_t copy_in(const weft::memory& memory, void* address, std::uint64_t offset, const std::byte* from,
                             std::size_t bytes);
  static bool contains(void* context, const void* address, std::size_t bytes) noexcept;

  // The address of these bytes in the second view; null if one of them is beyond the memory.
  [[nodiscard]] std::byte* find(const void* address, std::uint64_t offset, std::size_t bytes) const noexcept;
  [[nodiscard]] std::byte* checked(const char* call, std::size_t offset, std::size_t bytes) const;

  two_views pages_;
  memory_kind kind_;
  weft::memory memory_;
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<std::uint64_t> given_{0};
};

}  // namespace weft::test
