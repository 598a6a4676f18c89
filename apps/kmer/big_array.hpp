// SPDX-License-Identifier: BSD-3-Clause
// Zeroed memory for large tables, on huge pages where the system grants them: random access then misses the TLB less.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weft_kmer {

template <typename T>
class big_array {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  big_array() = default;

  /// Errors: std::bad_alloc. Pages are taken from the system at their first use.
  explicit big_array(std::size_t size) : size_{size} {
    if (size == 0) return;
    void* memory = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc{};
    data_ = static_cast<T*>(memory);
    if (size * sizeof(T) >= huge_page_bytes) (void)::madvise(memory, size * sizeof(T), MADV_HUGEPAGE);
  }

  big_array(big_array&& other) noexcept
      : data_{std::exchange(other.data_, nullptr)}, size_{std::exchange(other.size_, 0)} {}
  big_array& operator=(big_array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~big_array() {
    if (data_ != nullptr) ::munmap(data_, size_ * sizeof(T));
  }

  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const T* begin() const noexcept { return data_; }
  [[nodiscard]] const T* end() const noexcept { return data_ + size_; }

 private:
  static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft_kmer
