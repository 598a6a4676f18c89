// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank/attributes.hpp"

#include "mpi/error/error.hpp"
#include "mpi/objects/attribute.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {
namespace {

// The address of a predefined attribute's value; null: the key is another one.
int* find_value(rank_state& rank, int key) noexcept {
  predefined_attributes& values = rank.attributes.predefined;
  switch (key) {
    case MPI_TAG_UB: return &values.tag_max;
    case MPI_IO: return &values.io;
    case MPI_HOST: return &values.host;
    case MPI_WTIME_IS_GLOBAL: return &values.wtime_is_global;
    case MPI_APPNUM: return &values.program;
    case MPI_UNIVERSE_SIZE: return &values.universe_size;
    case MPI_LASTUSEDCODE: return current_slot().codes.last_used();
    default: return nullptr;
  }
}

attribute_list<MPI_Datatype>& list_of(rank_attributes& attributes, const datatype& type) {
  const std::lock_guard locked{attributes.mutex};
  return attributes.lists_of_datatypes[&type];
}

// Null: the type has no attributes, and never had one.
attribute_list<MPI_Datatype>* find_list(rank_attributes& attributes, const datatype& type) noexcept {
  const std::lock_guard locked{attributes.mutex};
  const auto found = attributes.lists_of_datatypes.find(&type);
  return found != attributes.lists_of_datatypes.end() ? &found->second : nullptr;
}

void remove_list(rank_attributes& attributes, const datatype& type) noexcept {
  const std::lock_guard locked{attributes.mutex};
  attributes.lists_of_datatypes.erase(&type);
}

}  // namespace

int set_attribute(rank_state& rank, communicator& comm, int key, void* value) noexcept {
  if (find_value(rank, key) != nullptr) return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be set");
  return rank.attributes.communicator_keys.set(comm.attributes, handle_of(rank, comm), key, value);
}

int get_attribute(rank_state& rank, const communicator& comm, int key, void* value, int* flag) noexcept {
  int* const predefined = find_value(rank, key);
  if (predefined == nullptr) return rank.attributes.communicator_keys.get(comm.attributes, key, value, flag);
  *static_cast<void**>(value) = predefined;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(rank_state& rank, communicator& comm, int key) noexcept {
  if (find_value(rank, key) != nullptr) return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be deleted");
  return rank.attributes.communicator_keys.erase(comm.attributes, handle_of(rank, comm), key);
}

int set_attribute(rank_state& rank, const datatype& type, int key, void* value) noexcept {
  return guarded(
      [&] { return rank.attributes.datatype_keys.set(list_of(rank.attributes, type), handle_of(type), key, value); });
}

int get_attribute(rank_state& rank, const datatype& type, int key, void* value, int* flag) noexcept {
  const attribute_list<MPI_Datatype> none;
  const attribute_list<MPI_Datatype>* const found = find_list(rank.attributes, type);
  return rank.attributes.datatype_keys.get(found != nullptr ? *found : none, key, value, flag);
}

int delete_attribute(rank_state& rank, const datatype& type, int key) noexcept {
  attribute_list<MPI_Datatype> none;
  attribute_list<MPI_Datatype>* const found = find_list(rank.attributes, type);
  return rank.attributes.datatype_keys.erase(found != nullptr ? *found : none, handle_of(type), key);
}

int copy_attributes(rank_state& rank, communicator& from, communicator& to) noexcept {
  return rank.attributes.communicator_keys.copy(from.attributes, handle_of(rank, from), to.attributes,
                                                handle_of(rank, to));
}

int copy_attributes(rank_state& rank, const datatype& from, const datatype& to) noexcept {
  rank_attributes& attributes = rank.attributes;
  const attribute_list<MPI_Datatype>* const found = find_list(attributes, from);
  if (found == nullptr) return MPI_SUCCESS;
  const int error = guarded(
      [&] { return attributes.datatype_keys.copy(*found, handle_of(from), list_of(attributes, to), handle_of(to)); });
  if (error != MPI_SUCCESS) remove_list(attributes, to);
  return error;
}

bool has_attributes(rank_state& rank, const communicator& comm) noexcept {
  return rank.attributes.communicator_keys.has_any(comm.attributes);
}

int delete_attributes(rank_state& rank, communicator& comm) noexcept {
  return rank.attributes.communicator_keys.erase_all(comm.attributes, handle_of(rank, comm));
}

int delete_attributes(rank_state& rank, const datatype& type) noexcept {
  rank_attributes& attributes = rank.attributes;
  attribute_list<MPI_Datatype>* const found = find_list(attributes, type);
  if (found == nullptr) return MPI_SUCCESS;
  const int error = attributes.datatype_keys.erase_all(*found, handle_of(type));
  if (error == MPI_SUCCESS) remove_list(attributes, type);
  return error;
}

}  // namespace weft::mpi
