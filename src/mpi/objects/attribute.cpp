// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/attribute.hpp"

#include <algorithm>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/error/program_call.hpp"
#include "mpi/handle/object.hpp"

namespace weft::mpi {
namespace {

int fail_key(int number) noexcept { return fail(MPI_ERR_KEYVAL, "%d is no key of attributes of such objects", number); }

template <class List>
auto find_in(List& list, int number) noexcept {
  return std::ranges::find_if(list, [number](const auto& each) { return each.key->number == number; });
}

// The value of a copy; none: there is to be no copy.
template <class Handle>
int copy_value(const attribute<Handle>& entry, Handle handle, void*& value, bool& has_value) noexcept {
  has_value = false;
  if (entry.key->copy == nullptr) return MPI_SUCCESS;  // MPI_COMM_NULL_COPY_FN
  value = entry.value;
  has_value = true;
  if (number_of(entry.key->copy) == 1) return MPI_SUCCESS;  // MPI_COMM_DUP_FN, in the standard ABI
  int flag = 0;
  const int error = call_program(
      [&] { return entry.key->copy(handle, entry.key->number, entry.key->extra_state, entry.value, &value, &flag); });
  has_value = flag != 0;
  return error;
}

}  // namespace

template <class Handle>
int attribute_keys<Handle>::create(copy_function<Handle>* copied, delete_function<Handle>* deleted, int* number,
                                   void* extra_state) noexcept {
  return guarded([&] {
    const std::lock_guard locked{mutex_};
    keys_.emplace(next_, std::make_shared<const attribute_key<Handle>>(
                             attribute_key<Handle>{next_, copied, deleted, extra_state}));
    *number = next_++;
    return MPI_SUCCESS;
  });
}

template <class Handle>
int attribute_keys<Handle>::free(int* number) noexcept {
  const std::lock_guard locked{mutex_};
  if (keys_.erase(*number) == 0) return fail_key(*number);
  *number = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

// The old value is deleted first; if that fails, it stays.
template <class Handle>
int attribute_keys<Handle>::set(attribute_list<Handle>& list, Handle handle, int number, void* value) noexcept {
  return guarded([&] {
    std::unique_lock locked{mutex_};
    const auto named = keys_.find(number);
    if (named == keys_.end()) return fail_key(number);
    const key_reference key = named->second;
    for (auto old = find_in(list, number); old != list.end(); old = find_in(list, number)) {
      const attribute<Handle> replaced = *old;
      locked.unlock();
      if (const int error = erase(list, handle, replaced); error != MPI_SUCCESS) return error;
      locked.lock();
    }
    list.push_back({key, value});
    return MPI_SUCCESS;
  });
}

// An attribute is found also by a key that its user has freed.
template <class Handle>
int attribute_keys<Handle>::get(const attribute_list<Handle>& list, int number, void* value, int* flag) noexcept {
  const std::lock_guard locked{mutex_};
  const auto found = find_in(list, number);
  if (found == list.end() && !keys_.contains(number)) return fail_key(number);
  *flag = found != list.end() ? 1 : 0;
  if (found != list.end()) *static_cast<void**>(value) = found->value;
  return MPI_SUCCESS;
}

template <class Handle>
int attribute_keys<Handle>::erase(attribute_list<Handle>& list, Handle handle, int number) noexcept {
  std::unique_lock locked{mutex_};
  const auto found = find_in(list, number);
  if (found == list.end()) return keys_.contains(number) ? MPI_SUCCESS : fail_key(number);
  const attribute<Handle> entry = *found;
  locked.unlock();
  return erase(list, handle, entry);
}

template <class Handle>
int attribute_keys<Handle>::erase(attribute_list<Handle>& list, Handle handle,
                                  const attribute<Handle>& entry) noexcept {
  if (entry.key->erase != nullptr) {
    const int error =
        call_program([&] { return entry.key->erase(handle, entry.key->number, entry.value, entry.key->extra_state); });
    if (error != MPI_SUCCESS) return error;
  }
  const std::lock_guard locked{mutex_};
  const auto found = std::ranges::find(list, entry.key, &attribute<Handle>::key);
  if (found != list.end()) list.erase(found);
  return MPI_SUCCESS;
}

template <class Handle>
int attribute_keys<Handle>::copy(const attribute_list<Handle>& list, Handle handle, attribute_list<Handle>& to,
                                 Handle copied) noexcept {
  return guarded([&] {
    attribute_list<Handle> all;
    {
      const std::lock_guard locked{mutex_};
      all = list;
    }
    for (const attribute<Handle>& entry : all) {
      void* value = nullptr;
      bool has_value = false;
      if (const int error = copy_value(entry, handle, value, has_value); error != MPI_SUCCESS) {
        drop_exception(erase_all(to, copied));
        to.clear();
        return error;
      }
      if (has_value) to.push_back({entry.key, value});
    }
    return MPI_SUCCESS;
  });
}

template <class Handle>
bool attribute_keys<Handle>::has_any(const attribute_list<Handle>& list) noexcept {
  const std::lock_guard locked{mutex_};
  return !list.empty();
}

template <class Handle>
int attribute_keys<Handle>::erase_all(attribute_list<Handle>& list, Handle handle) noexcept {
  return guarded([&] {
    attribute_list<Handle> all;  // users' functions may set others, which are not deleted
    {
      const std::lock_guard locked{mutex_};
      all = list;
    }
    for (; !all.empty(); all.pop_back()) {
      if (const int error = erase(list, handle, all.back()); error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  });
}

template class attribute_keys<MPI_Comm>;
template class attribute_keys<MPI_Datatype>;

}  // namespace weft::mpi
