// SPDX-License-Identifier: BSD-3-Clause
// Attributes, which users cache on communicators and datatypes, and the keys that name them (MPI 5.0, 7.7).
#pragma once

#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "mpi.h"

namespace weft::mpi {

class datatype;

template <class Handle>
using copy_function = int(Handle, int, void*, void*, void*, int*);
template <class Handle>
using delete_function = int(Handle, int, void*, void*);

/// A key, with the user's functions. It lives as long as an attribute has it, though its user has freed it.
template <class Handle>
struct attribute_key {
  int number;
  copy_function<Handle>* copy;
  delete_function<Handle>* erase;
  void* extra_state;
};

template <class Handle>
struct attribute {
  std::shared_ptr<const attribute_key<Handle>> key;
  void* value;
};

/// The attributes of an object, in the order in which they were set.
template <class Handle>
using attribute_list = std::vector<attribute<Handle>>;

/// The keys of a rank for objects of one kind, and all that is done with them.
///
/// **Threads**: any, several at once. No lock is held while a user's function runs, which may call all of MPI. All
/// functions return an error class, or the error code of a user's function; then an attribute that was to be deleted
/// is still there.
template <class Handle>
class attribute_keys {
 public:
  explicit attribute_keys(int first) noexcept : next_{first} {}

  int create(copy_function<Handle>* copied, delete_function<Handle>* deleted, int* number, void* extra_state) noexcept;
  int free(int* number) noexcept;

  int set(attribute_list<Handle>& list, Handle handle, int number, void* value) noexcept;
  int get(const attribute_list<Handle>& list, int number, void* value, int* flag) noexcept;
  int erase(attribute_list<Handle>& list, Handle handle, int number) noexcept;

  /// Copies attributes to an object that is made of another one. If a user's function fails, `to` has none.
  int copy(const attribute_list<Handle>& list, Handle handle, attribute_list<Handle>& to, Handle copied) noexcept;
  [[nodiscard]] bool has_any(const attribute_list<Handle>& list) noexcept;
  /// Deletes the attributes of an object that ends, the newest first. Attributes that callbacks set meanwhile stay.
  int erase_all(attribute_list<Handle>& list, Handle handle) noexcept;

 private:
  using key_reference = std::shared_ptr<const attribute_key<Handle>>;
  int erase(attribute_list<Handle>& list, Handle handle, const attribute<Handle>& entry) noexcept;

  std::mutex mutex_;  // guards all that follows, and all lists
  int next_;
  std::unordered_map<int, key_reference> keys_;
};

extern template class attribute_keys<MPI_Comm>;
extern template class attribute_keys<MPI_Datatype>;

/// The predefined attributes of all communicators but MPI_LASTUSEDCODE, as users get their addresses.
struct predefined_attributes {
  int tag_max;
  int io;
  int host;
  int wtime_is_global;
  int program;
  int universe_size;
};

/// The attributes of a rank.
struct rank_attributes {
  attribute_keys<MPI_Comm> communicator_keys{0x1000};
  attribute_keys<MPI_Datatype> datatype_keys{0x4000'0000};  // no key is one of both
  predefined_attributes predefined{};
  std::mutex mutex{};  // guards `lists_of_datatypes`
  // All ranks of a process use the predefined types, so a type itself has none.
  std::unordered_map<const datatype*, attribute_list<MPI_Datatype>> lists_of_datatypes{};
};

}  // namespace weft::mpi
