// SPDX-License-Identifier: BSD-3-Clause
// Memory whose functions fail where a test wants it: they throw, copy less than they are asked for, or say that they
// have copied more. It lies between two margins, which no copy may change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "weft/weft.hpp"

namespace weft::test {

enum class fault : std::uint8_t { none, throws, is_short, says_too_many };

class faulty_memory {
 public:
  /// `bytes` bytes of `kind`, or, where it is null, of a layout. They lie in ordinary memory, so the test can read
  /// them.
  faulty_memory(const memory_kind* kind, std::size_t bytes) : bytes_{bytes}, all_(bytes + 2 * margin, unused) {
    if (kind != nullptr) {
      of_kind_.emplace(*kind, this);
    } else {
      of_layout_.emplace(layout_functions{.pack = pack, .unpack = unpack}, this);
    }
  }

  faulty_memory(const faulty_memory&) = delete;
  faulty_memory& operator=(const faulty_memory&) = delete;

  /// From now on each copy fails that reaches byte `from` or a later one.
  void fail(fault how, std::size_t from = 0) noexcept {
    how_ = how;
    fails_from_ = from;
  }
  void fill(std::uint64_t key) noexcept {
    for (std::size_t i = 0; i < bytes_; ++i) data()[i] = byte_at(key, i);
  }
  [[nodiscard]] bool has(std::uint64_t key) const noexcept {
    for (std::size_t i = 0; i < bytes_; ++i)
      if (all_[margin + i] != byte_at(key, i)) return false;
    return true;
  }
  /// Whether no function was asked for bytes beyond the buffer, and none were written there.
  [[nodiscard]] bool is_whole() const noexcept {
    const auto is_unused = [](std::byte each) { return each == unused; };
    return !was_asked_beyond_ && std::all_of(all_.begin(), all_.begin() + margin, is_unused) &&
           std::all_of(all_.end() - margin, all_.end(), is_unused);
  }

  [[nodiscard]] const weft::memory& in() const noexcept { return of_kind_ ? *of_kind_ : *of_layout_; }
  [[nodiscard]] const_buffer_ref from() noexcept { return {data(), bytes_, in()}; }
  [[nodiscard]] buffer_ref into() noexcept { return {data(), bytes_, in()}; }
  [[nodiscard]] std::byte* data() noexcept { return all_.data() + margin; }

  [[nodiscard]] static memory_functions functions() noexcept {
    memory_functions out;
    out.copy_out = [](const weft::memory& of, const void* address, std::uint64_t offset, std::byte* to,
                      std::size_t bytes) { return pack(of.context(), address, offset, to, bytes); };
    out.copy_in = [](const weft::memory& of, void* address, std::uint64_t offset, const std::byte* from,
                     std::size_t bytes) { return unpack(of.context(), address, offset, from, bytes); };
    return out;
  }
  [[nodiscard]] static std::byte byte_at(std::uint64_t key, std::size_t at) noexcept {
    return static_cast<std::byte>((key * 37 + at * 11 + at / 251) % 251);  // never `unused`
  }

  static constexpr std::ptrdiff_t margin = 64;
  static constexpr std::byte unused{0xfe};

 private:
  static std::size_t pack(const void* context, const void* address, std::uint64_t offset, std::byte* to,
                          std::size_t bytes) {
    auto& self = *static_cast<faulty_memory*>(const_cast<void*>(context));
    const std::size_t copied = self.begin(address, offset, bytes);
    std::copy_n(static_cast<const std::byte*>(address) + offset, copied, to);
    return self.end(offset, copied, bytes);
  }
  static std::size_t unpack(const void* context, void* address, std::uint64_t offset, const std::byte* from,
                            std::size_t bytes) {
    auto& self = *static_cast<faulty_memory*>(const_cast<void*>(context));
    const std::size_t copied = self.begin(address, offset, bytes);
    std::copy_n(from, copied, static_cast<std::byte*>(address) + offset);
    return self.end(offset, copied, bytes);
  }

  // How many bytes are copied.
  std::size_t begin(const void* address, std::uint64_t offset, std::size_t bytes) {
    if (address != data() || offset > bytes_ || bytes > bytes_ - offset) {
      was_asked_beyond_ = true;
      return 0;
    }
    if (!fails(offset, bytes)) return bytes;
    if (how_ == fault::throws) throw std::runtime_error{"the memory is gone"};
    return how_ == fault::is_short ? bytes - 1 : bytes;
  }
  std::size_t end(std::uint64_t offset, std::size_t copied, std::size_t bytes) const noexcept {
    if (!fails(offset, bytes) || how_ != fault::says_too_many) return copied;
    return offset == 0 ? bytes + 1 : std::numeric_limits<std::size_t>::max();
  }
  [[nodiscard]] bool fails(std::uint64_t offset, std::size_t bytes) const noexcept {
    return how_ != fault::none && offset + bytes > fails_from_;
  }

  std::size_t bytes_;
  std::vector<std::byte> all_;
  fault how_ = fault::none;
  std::size_t fails_from_ = 0;
  bool was_asked_beyond_ = false;
  std::optional<weft::memory> of_kind_;
  std::optional<layout> of_layout_;
};

/// Gives the same faulty memory to one message at a time.
class faulty_allocator final : public buffer_allocator {
 public:
  explicit faulty_allocator(faulty_memory& memory) noexcept : memory_{memory} {}

  void* allocate(std::size_t bytes, std::uint32_t /*source*/, std::uint64_t /*tag*/) noexcept override {
    if (is_given_) return nullptr;
    is_given_ = true;
    given_bytes_ = bytes;
    return memory_.data();
  }
  void deallocate(void* memory, std::size_t bytes) noexcept override {
    is_right_ &= is_given_ && memory == memory_.data() && bytes == given_bytes_;
    is_given_ = false;
  }
  [[nodiscard]] const weft::memory* memory() const noexcept override { return &memory_.in(); }

  /// Whether all that was given has come back, with its address and size.
  [[nodiscard]] bool has_all_back() const noexcept { return is_right_ && !is_given_; }

 private:
  faulty_memory& memory_;
  bool is_given_ = false;
  bool is_right_ = true;
  std::size_t given_bytes_ = 0;
};

}  // namespace weft::test
