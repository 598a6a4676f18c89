// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, some of them predefined, and of datatypes.
#pragma once

namespace weft::mpi {

class datatype;
struct communicator;
struct rank_state;

int set_attribute(rank_state& rank, communicator& comm, int key, void* value) noexcept;
int get_attribute(rank_state& rank, const communicator& comm, int key, void* value, int* flag) noexcept;
int delete_attribute(rank_state& rank, communicator& comm, int key) noexcept;
int set_attribute(rank_state& rank, const datatype& type, int key, void* value) noexcept;
int get_attribute(rank_state& rank, const datatype& type, int key, void* value, int* flag) noexcept;
int delete_attribute(rank_state& rank, const datatype& type, int key) noexcept;

/// Copies the attributes of a duplicate. If a user's function fails, its error code is returned, and `to` has no
/// attributes.
int copy_attributes(rank_state& rank, communicator& from, communicator& to) noexcept;
int copy_attributes(rank_state& rank, const datatype& from, const datatype& to) noexcept;
[[nodiscard]] bool has_attributes(rank_state& rank, const communicator& comm) noexcept;
/// Deletes the attributes of an object whose handle is about to be freed. If a user's function fails, its error code is
/// returned: the handle is not to be freed.
int delete_attributes(rank_state& rank, communicator& comm) noexcept;
int delete_attributes(rank_state& rank, const datatype& type) noexcept;

}  // namespace weft::mpi
