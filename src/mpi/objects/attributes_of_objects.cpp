// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, some of them predefined, and of datatypes.
#include "mpi/objects/attribute.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"

namespace weft::mpi {
namespace {

// The address of a predefined attribute's value; null: the key is another one.
int* find_value(rank_state& rank, int key) noexcept {
  predefined_attributes& of = rank.attributes.predefined;
  switch (key) {
    case MPI_TAG_UB: return &of.tag_max;
    case MPI_IO: return &of.io;
    case MPI_HOST: return &of.host;
    case MPI_WTIME_IS_GLOBAL: return &of.wtime_is_global;
    case MPI_APPNUM: return &of.program;
    case MPI_UNIVERSE_SIZE: return &of.universe_size;
    case MPI_LASTUSEDCODE: return current_slot().codes.last_used();
    default: return nullptr;
  }
}

attribute_list<MPI_Datatype>& list_of(rank_attributes& in, const datatype& type) {
  const std::lock_guard locked{in.mutex};
  return in.lists_of_datatypes[&type];
}

// Null: the type has no attributes, and never had one.
attribute_list<MPI_Datatype>* find_list(rank_attributes& in, const datatype& type) noexcept {
  const std::lock_guard locked{in.mutex};
  const auto found = in.lists_of_datatypes.find(&type);
  return found != in.lists_of_datatypes.end() ? &found->second : nullptr;
}

void remove_list(rank_attributes& in, const datatype& type) noexcept {
  const std::lock_guard locked{in.mutex};
  in.lists_of_datatypes.erase(&type);
}

}  // namespace

int set_attribute(rank_state& rank, communicator& of, int key, void* value) noexcept {
  if (find_value(rank, key) != nullptr) return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be set");
  return rank.attributes.of_communicators.set(of.attributes, handle_of(rank, of), key, value);
}

int get_attribute(rank_state& rank, const communicator& of, int key, void* value, int* flag) noexcept {
  int* const predefined = find_value(rank, key);
  if (predefined == nullptr) return rank.attributes.of_communicators.get(of.attributes, key, value, flag);
  *static_cast<void**>(value) = predefined;
  *flag = 1;
  return MPI_SUCCESS;
}

int delete_attribute(rank_state& rank, communicator& of, int key) noexcept {
  if (find_value(rank, key) != nullptr) return fail(MPI_ERR_KEYVAL, "a predefined attribute cannot be deleted");
  return rank.attributes.of_communicators.erase(of.attributes, handle_of(rank, of), key);
}

int set_attribute(rank_state& rank, const datatype& of, int key, void* value) noexcept {
  return guarded(
      [&] { return rank.attributes.of_datatypes.set(list_of(rank.attributes, of), handle_of(of), key, value); });
}

int get_attribute(rank_state& rank, const datatype& of, int key, void* value, int* flag) noexcept {
  const attribute_list<MPI_Datatype> none;
  const attribute_list<MPI_Datatype>* const found = find_list(rank.attributes, of);
  return rank.attributes.of_datatypes.get(found != nullptr ? *found : none, key, value, flag);
}

int delete_attribute(rank_state& rank, const datatype& of, int key) noexcept {
  attribute_list<MPI_Datatype> none;
  attribute_list<MPI_Datatype>* const found = find_list(rank.attributes, of);
  return rank.attributes.of_datatypes.erase(found != nullptr ? *found : none, handle_of(of), key);
}

int copy_attributes(rank_state& rank, communicator& from, communicator& to) noexcept {
  return rank.attributes.of_communicators.copy(from.attributes, handle_of(rank, from), to.attributes,
                                               handle_of(rank, to));
}

int copy_attributes(rank_state& rank, const datatype& from, const datatype& to) noexcept {
  rank_attributes& in = rank.attributes;
  const attribute_list<MPI_Datatype>* const found = find_list(in, from);
  if (found == nullptr) return MPI_SUCCESS;
  const int error =
      guarded([&] { return in.of_datatypes.copy(*found, handle_of(from), list_of(in, to), handle_of(to)); });
  if (error != MPI_SUCCESS) remove_list(in, to);
  return error;
}

bool has_attributes(rank_state& rank, const communicator& comm) noexcept {
  return rank.attributes.of_communicators.has_any(comm.attributes);
}

int delete_attributes(rank_state& rank, communicator& of) noexcept {
  return rank.attributes.of_communicators.erase_all(of.attributes, handle_of(rank, of));
}

int delete_attributes(rank_state& rank, const datatype& of) noexcept {
  rank_attributes& in = rank.attributes;
  attribute_list<MPI_Datatype>* const found = find_list(in, of);
  if (found == nullptr) return MPI_SUCCESS;
  const int error = in.of_datatypes.erase_all(*found, handle_of(of));
  if (error == MPI_SUCCESS) remove_list(in, of);
  return error;
}

}  // namespace weft::mpi
