// SPDX-License-Identifier: BSD-3-Clause
// Messages in every kind of memory: their bytes are known, and so is each byte around and between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/test/guarded_memory.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Where the bytes of a message lie.
enum class storage : std::uint8_t {
  ordinary,
  guarded,
  words,      // a layout: blocks of 8 bytes
  blocks,     // a layout: blocks of 4 KiB
  touchable,  // a kind that processors may touch, and peers may not
  for_peers,  // a kind that the operating system copies
  list,       // pieces of ordinary memory
  mixed,      // pieces of all kinds
  count,
};
[[nodiscard]] const char* name_of(storage where) noexcept;
inline constexpr std::size_t storage_count = static_cast<std::size_t>(storage::count);

/// Blocks of one size at equal distances: a shape of layouts.
struct strided {
  std::size_t block;
  std::size_t stride;

  std::size_t pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept;
  std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) const noexcept;
  [[nodiscard]] std::size_t extent(std::size_t bytes) const noexcept {
    return bytes == 0 ? 0 : (bytes - 1) / block * stride + (bytes - 1) % block + 1;
  }
};

/// The kinds of one runtime, and guarded memory of which messages take parts.
class kinds_of_memory {
 public:
  kinds_of_memory(runtime& rt, std::size_t guarded_bytes, const guarded_memory_options& options = {});

  /// The memory that a piece names; null for ordinary memory. Not of lists.
  [[nodiscard]] const memory* in(storage where) const noexcept;
  [[nodiscard]] const strided* shape_of(storage where) const noexcept;

  guarded_memory guarded;
  /// The first byte of `guarded` that no message has taken.
  std::size_t free_guarded = 0;

 private:
  memory_kind touchable_kind_;
  memory_kind peers_kind_;
  memory touchable_;
  memory for_peers_;
  layout words_;
  layout blocks_;
};

/// The first `bytes` bytes of the message `key`.
[[nodiscard]] std::span<const std::byte> bytes_of_message(std::uint64_t key, std::size_t bytes);

/// The buffer of one message. **Threads**: one.
class stored_message {
 public:
  /// All bytes of it and around it have one value.
  stored_message(kinds_of_memory& kinds, storage where, std::size_t bytes);

  [[nodiscard]] storage where() const noexcept { return where_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool is_list() const noexcept { return where_ >= storage::list; }
  /// The memory of the one buffer; null for ordinary memory, and for lists.
  [[nodiscard]] const memory* in() const noexcept { return is_list() ? nullptr : into_.front().memory(); }

  /// Calls `post` with the one buffer, or with the list.
  template <class Post>
  auto with_source(const Post& post) const {
    return is_list() ? post(const_buffer_list{std::span{from_}}) : post(from_.front());
  }
  template <class Post>
  auto with_target(const Post& post) const {
    return is_list() ? post(buffer_list{std::span{into_}}) : post(into_.front());
  }
  /// The one buffer; the first one of a list.
  [[nodiscard]] const buffer_ref& one() const noexcept { return into_.front(); }
  [[nodiscard]] const_buffer_list source() const noexcept { return std::span{from_}; }
  [[nodiscard]] buffer_list target() const noexcept { return std::span{into_}; }

  /// Writes the message `key` into it.
  void fill(std::uint64_t key);
  /// What is wrong, if its first `count` bytes are not those of the message `key`, or another byte is not as it was at
  /// first.
  [[nodiscard]] std::optional<std::string> difference(std::uint64_t key, std::size_t count) const;
  /// What is wrong with a record of this buffer, of which `count` bytes were read or written.
  [[nodiscard]] std::optional<std::string> problem_of(const completion_record& record, std::size_t count) const;

 private:
  struct part {
    storage where;
    std::size_t bytes;
    std::size_t offset;  // in `ordinary_`, or in the guarded bytes
  };
  // The bytes of this buffer and around it.
  struct image {
    std::vector<std::byte> ordinary;
    std::vector<std::byte> guarded;
  };

  void add(storage where, std::size_t bytes);
  [[nodiscard]] image image_of(std::uint64_t key, std::size_t count) const;

  kinds_of_memory& kinds_;
  storage where_;
  std::size_t bytes_;
  std::vector<part> parts_;
  std::vector<std::byte> ordinary_;
  std::size_t ordinary_bytes_ = 0;
  std::size_t guarded_begin_;
  std::size_t guarded_bytes_ = 0;
  std::vector<const_buffer_ref> from_;
  std::vector<buffer_ref> into_;
};

}  // namespace weft::test
