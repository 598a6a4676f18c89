// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/attribute.hpp"

#include <algorithm>
#include <utility>

#include "mpi/objects/error.hpp"
#include "mpi/objects/object.hpp"
#include "mpi/objects/program_call.hpp"

namespace weft::mpi {
namespace {

int fail_key(int number) noexcept { return fail(MPI_ERR_KEYVAL, "%d is no key of attributes of such objects", number); }

template <class List>
auto find_in(List& in, int number) noexcept {
  return std::ranges::find_if(in, [number](const auto& each) { return each.key->number == number; });
}

// The value of a copy; none: there is to be no copy.
template <class Handle>
int copy_value(const attribute<Handle>& one, Handle handle, void*& value, bool& has_value) noexcept {
  has_value = false;
  if (one.key->copy == nullptr) return MPI_SUCCESS;  // MPI_COMM_NULL_COPY_FN
  value = one.value;
  has_value = true;
  if (number_of(one.key->copy) == 1) return MPI_SUCCESS;  // MPI_COMM_DUP_FN, in the standard ABI
  int flag = 0;
  const int error = call_program(
      [&] { return one.key->copy(handle, one.key->number, one.key->extra_state, one.value, &value, &flag); });
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
int attribute_keys<Handle>::set(attribute_list<Handle>& of, Handle handle, int number, void* value) noexcept {
  return guarded([&] {
    std::unique_lock locked{mutex_};
    const auto named = keys_.find(number);
    if (named == keys_.end()) return fail_key(number);
    const key_reference key = named->second;
    for (auto old = find_in(of, number); old != of.end(); old = find_in(of, number)) {
      const attribute<Handle> replaced = *old;
      locked.unlock();
      if (const int error = erase(of, handle, replaced); error != MPI_SUCCESS) return error;
      locked.lock();
    }
    of.push_back({key, value});
    return MPI_SUCCESS;
  });
}

// An attribute is found also by a key that its user has freed.
template <class Handle>
int attribute_keys<Handle>::get(const attribute_list<Handle>& of, int number, void* value, int* flag) noexcept {
  const std::lock_guard locked{mutex_};
  const auto found = find_in(of, number);
  if (found == of.end() && !keys_.contains(number)) return fail_key(number);
  *flag = found != of.end() ? 1 : 0;
  if (found != of.end()) *static_cast<void**>(value) = found->value;
  return MPI_SUCCESS;
}

template <class Handle>
int attribute_keys<Handle>::erase(attribute_list<Handle>& of, Handle handle, int number) noexcept {
  std::unique_lock locked{mutex_};
  const auto found = find_in(of, number);
  if (found == of.end()) return keys_.contains(number) ? MPI_SUCCESS : fail_key(number);
  const attribute<Handle> one = *found;
  locked.unlock();
  return erase(of, handle, one);
}

template <class Handle>
int attribute_keys<Handle>::erase(attribute_list<Handle>& of, Handle handle, const attribute<Handle>& one) noexcept {
  if (one.key->erase != nullptr) {
    const int error =
        call_program([&] { return one.key->erase(handle, one.key->number, one.value, one.key->extra_state); });
    if (error != MPI_SUCCESS) return error;
  }
  const std::lock_guard locked{mutex_};
  const auto found = std::ranges::find(of, one.key, &attribute<Handle>::key);
  if (found != of.end()) of.erase(found);
  return MPI_SUCCESS;
}

template <class Handle>
int attribute_keys<Handle>::copy(const attribute_list<Handle>& of, Handle handle, attribute_list<Handle>& to,
                                 Handle copied) noexcept {
  return guarded([&] {
    attribute_list<Handle> all;
    {
      const std::lock_guard locked{mutex_};
      all = of;
    }
    for (const attribute<Handle>& one : all) {
      void* value = nullptr;
      bool has_value = false;
      if (const int error = copy_value(one, handle, value, has_value); error != MPI_SUCCESS) {
        drop_exception(erase_all(to, copied));
        to.clear();
        return error;
      }
      if (has_value) to.push_back({one.key, value});
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
int attribute_keys<Handle>::erase_all(attribute_list<Handle>& of, Handle handle) noexcept {
  return guarded([&] {
    attribute_list<Handle> all;  // users' functions may set others, which are not deleted
    {
      const std::lock_guard locked{mutex_};
      all = of;
    }
    for (; !all.empty(); all.pop_back()) {
      if (const int error = erase(of, handle, all.back()); error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
  });
}

template class attribute_keys<MPI_Comm>;
template class attribute_keys<MPI_Datatype>;

}  // namespace weft::mpi
