// SPDX-License-Identifier: BSD-3-Clause
// Datatypes: predefined ones, which live for ever, and derived ones, which count their references.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mpi/datatype/basic.hpp"
#include "mpi/datatype/error_class.hpp"
#include "mpi/datatype/type_map.hpp"
#include "mpi/handle/object.hpp"
#include "weft/buffer.hpp"
#include "weft/memory.hpp"

namespace weft::mpi {

class datatype;

/// A reference to a datatype, which lives at least as long; or to none.
class datatype_ref {
 public:
  datatype_ref() noexcept = default;
  explicit datatype_ref(const datatype& type) noexcept;
  datatype_ref(const datatype_ref& other) noexcept;
  datatype_ref(datatype_ref&& other) noexcept : type_{std::exchange(other.type_, nullptr)} {}
  datatype_ref& operator=(datatype_ref other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~datatype_ref();

  /// Takes a reference that `release` gave.
  [[nodiscard]] static datatype_ref adopt(const datatype* type) noexcept {
    datatype_ref out;
    out.type_ = type;
    return out;
  }
  /// Gives the reference to the caller, for a handle.
  [[nodiscard]] const datatype* release() noexcept { return std::exchange(type_, nullptr); }

  [[nodiscard]] const datatype* get() const noexcept { return type_; }
  const datatype& operator*() const noexcept { return *type_; }
  const datatype* operator->() const noexcept { return type_; }
  explicit operator bool() const noexcept { return type_ != nullptr; }

 private:
  const datatype* type_ = nullptr;
};

/// How a type was constructed, with the values of MPI's combiners.
enum class combiner : int {
  named = 101,
  dup,
  contiguous,
  vector,
  hvector,
  indexed,
  hindexed,
  indexed_block,
  hindexed_block,
  structure,
  subarray,
  darray,
  f90_real,
  f90_complex,
  f90_integer,
  resized,
  value_index,
};

/// The arguments of the constructor. `numbers`: ints of the narrow form, then addresses, each in the order of the
/// standard (5.1.13).
struct constructor_arguments {
  combiner kind = combiner::named;
  bool is_wide = false;  // constructed with MPI_Count, by a function that ends in _c
  std::vector<std::int64_t> numbers{};
  std::vector<datatype_ref> types{};
};

/// A datatype. Immutable, but for its name, and that it is committed.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any, several at once. **Errors**: none.
class datatype {
 public:
  datatype(type_map&& map, constructor_arguments&& from);  // **Errors**: std::bad_alloc
  datatype(std::uint32_t handle, std::string_view name, type_map&& map, bool is_absent);

  datatype(const datatype&) = delete;
  datatype& operator=(const datatype&) = delete;

  [[nodiscard]] bool is_predefined() const noexcept { return handle_ != 0; }
  /// The handle of a predefined type; 0: the type is derived.
  [[nodiscard]] std::uint32_t handle() const noexcept { return handle_; }
  /// Whether it is one of Fortran that this library has no size for: it can only be asked for its name.
  [[nodiscard]] bool is_absent() const noexcept { return is_absent_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Not of a predefined type, which all ranks of a process use. **Threads**: one at a time, and none that reads the
  /// name. **Errors**: std::bad_alloc.
  void set_name(std::string_view name) const { name_ = name; }

  /// Whether it may be used for communication. An absent type never is.
  [[nodiscard]] bool is_committed() const noexcept {
    // [hint] A thread that has not seen the commit has to take the type for one that is not committed.
    return is_committed_.load(std::memory_order_relaxed);
  }
  /// **Threads**: before any that communicates with it.
  void commit() const noexcept {
    // [hint] A program orders this before the uses of other threads.
    is_committed_.store(true, std::memory_order_relaxed);
  }

  [[nodiscard]] const type_map& map() const noexcept { return map_; }
  [[nodiscard]] std::int64_t size() const noexcept { return map_.size(); }
  [[nodiscard]] std::int64_t lower_bound() const noexcept { return map_.lower_bound(); }
  [[nodiscard]] std::int64_t extent() const noexcept { return map_.extent(); }
  [[nodiscard]] std::int64_t true_lower_bound() const noexcept { return map_.extremes.begin; }
  [[nodiscard]] std::int64_t true_extent() const noexcept { return map_.extremes.end - map_.extremes.begin; }
  /// The basic type of which all data is; null: there are several, or none.
  [[nodiscard]] const basic* element() const noexcept { return map_.data.element; }
  [[nodiscard]] const constructor_arguments& constructor() const noexcept { return constructor_; }

  /// The bytes of the data of `count` elements. **Errors**: false where they do not fit in 64 bits, or for a negative
  /// count.
  [[nodiscard]] bool try_bytes_of(std::int64_t count, std::int64_t& bytes) const noexcept {
    return count >= 0 && !__builtin_mul_overflow(size(), count, &bytes);
  }

  /// Whether the data of `count` elements lie one behind the other.
  [[nodiscard]] bool is_contiguous(std::int64_t count) const noexcept {
    if (count <= 1 || size() == 0) return count == 0 || map_.data.blocks == nullptr;
    return all_.blocks == nullptr && all_.bytes > size();
  }

  /// The buffer of `count` elements at `address`, which may be null if displacements are addresses: ordinary memory
  /// where the data are contiguous, a layout for all else. `try_bytes_of` has said that they fit. **Buffer**: refers to
  /// the type: keep a reference as long as the buffer.
  [[nodiscard]] const_buffer_ref buffer(const void* address, std::int64_t count) const noexcept {
    if (map_.is_dense) [[likely]]
      return {address, static_cast<std::size_t>(size() * count)};
    return buffer_of_blocks(address, count);
  }
  [[nodiscard]] buffer_ref buffer(void* address, std::int64_t count) const noexcept {
    const const_buffer_ref out = buffer(static_cast<const void*>(address), count);
    void* const begin = const_cast<void*>(out.address());
    return out.memory() == nullptr ? buffer_ref{begin, out.bytes()} : buffer_ref{begin, out.bytes(), layout_};
  }

  /// Copies bytes `offset` to `offset + bytes - 1` of the data of elements at `address`. **Returns** `bytes`.
  std::size_t pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept;
  /// Copies to where byte `offset` of the data and those behind it belong. **Returns** `bytes`.
  std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) const noexcept;

  /// The reference count, which predefined types do without.
  void add_reference() const noexcept;
  /// Destroys the type with its last reference, and then the types that only this one referred to.
  static void remove_reference(const datatype* type) noexcept;

 private:
  friend const datatype* find_derived(const void* address) noexcept;
  ~datatype() { kind_ = object_kind::freed; }

  [[nodiscard]] const_buffer_ref buffer_of_blocks(const void* address, std::int64_t count) const noexcept;

  object_kind kind_ = object_kind::datatype;  // first: handles of other kinds of objects are found by it
  type_map map_;
  part all_;  // the largest count of elements that fits in 64 bits
  weft::layout layout_;
  mutable constructor_arguments constructor_;
  mutable std::string name_;
  mutable std::atomic<std::uint64_t> references_{1};
  std::uint32_t handle_ = 0;
  bool is_absent_ = false;
  mutable std::atomic<bool> is_committed_ = false;
  mutable const datatype* next_ = nullptr;  // links types that end together
};

namespace detail {
/// The predefined types, indexed by their handles. Null: there is none, or `find_predefined_slowly` was not called yet.
extern constinit std::array<std::atomic<const datatype*>, last_handle - first_handle + 1> predefined_types;
[[nodiscard, gnu::cold]] const datatype* find_predefined_slowly(std::uintptr_t handle) noexcept;

/// Null also where the predefined types are not made yet.
[[nodiscard]] inline const datatype* find_made(std::uintptr_t handle) noexcept {
  const std::uintptr_t index = handle - first_handle;
  if (index >= predefined_types.size()) [[unlikely]]
    return nullptr;
  // [predefined.find] acquire <- [predefined.made], [predefined.sized]: the type.
  return predefined_types[index].load(std::memory_order_acquire);
}
}  // namespace detail

/// The predefined type with this handle in MPI's standard ABI; null: no type has it. **Threads**: any.
[[nodiscard]] inline const datatype* find_predefined(std::uintptr_t handle) noexcept {
  const datatype* const found = detail::find_made(handle);
  return found != nullptr ? found : detail::find_predefined_slowly(handle);
}

/// The derived type at an address that a handle has; null: another kind of object is there.
[[nodiscard]] inline const datatype* find_derived(const void* address) noexcept {
  const auto* const found = static_cast<const datatype*>(address);
  return found->kind_ == object_kind::datatype ? found : nullptr;
}

/// The predefined pair of a value and an index (MPI_Type_get_value_index); null: there is none.
[[nodiscard]] const datatype* find_pair(const datatype& value, const datatype& index) noexcept;

inline datatype_ref::datatype_ref(const datatype& type) noexcept : type_{&type} { type.add_reference(); }
inline datatype_ref::datatype_ref(const datatype_ref& other) noexcept : type_{other.type_} {
  if (type_ != nullptr) type_->add_reference();
}
inline datatype_ref::~datatype_ref() {
  if (type_ != nullptr) datatype::remove_reference(type_);
}

}  // namespace weft::mpi
