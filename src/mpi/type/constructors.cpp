// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/type/constructors.hpp"

#include <vector>

#include "mpi/datatype/fortran.hpp"
#include "mpi/error/error.hpp"
#include "mpi/rank/attributes.hpp"
#include "mpi/rank/rank_state.hpp"

namespace weft::mpi {

int type_struct(MPI_Count count, number_list block_lengths, number_list displacements, const MPI_Datatype* types,
                width form, MPI_Datatype* to) noexcept {
  if (count > 0 && types == nullptr) return fail(MPI_ERR_ARG, "a null pointer for an array of datatypes");
  return guarded([&] {
    std::vector<const datatype*> found;
    found.reserve(static_cast<std::size_t>(count));
    for (MPI_Count index = 0; index < count; ++index) {
      found.push_back(find_datatype(types[index]));
      if (found.back() == nullptr)
        return fail(MPI_ERR_TYPE, "element %lld of the array is no datatype", static_cast<long long>(index));
    }
    return construct(to, make_struct, count, block_lengths, displacements, found.data(), form);
  });
}

int type_dup(rank_state& rank, const datatype& old, MPI_Datatype* to) noexcept {
  datatype_ref made;
  const error_class failure = make_dup(&old, made);
  if (failure != error_class::success) return static_cast<int>(failure);
  const int error = copy_attributes(rank, old, *made);
  *to = error == MPI_SUCCESS ? handle_of(*made.release()) : MPI_DATATYPE_NULL;
  return error;
}

int type_commit(const MPI_Datatype* handle) noexcept {
  const datatype* const type = find_datatype(*handle);
  if (type == nullptr || type->is_absent()) return fail(MPI_ERR_TYPE, "it is no datatype");
  if (!type->is_committed()) type->commit();
  return MPI_SUCCESS;
}

int type_free(rank_state& rank, MPI_Datatype* handle) noexcept {
  const datatype* const type = find_datatype(*handle);
  if (type == nullptr) return fail(MPI_ERR_TYPE, "it is no datatype");
  if (type->is_predefined() || is_of_fortran(*type)) return fail(MPI_ERR_TYPE, "a predefined datatype is not freed");
  const int error = delete_attributes(rank, *type);
  if (error != MPI_SUCCESS) return error;
  datatype::remove_reference(type);
  *handle = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}

int type_fortran(combiner kind, int p, int r, MPI_Datatype* to) noexcept {
  return guarded([&] {
    const auto given = [](int number) { return number == MPI_UNDEFINED ? std::nullopt : std::optional{number}; };
    const datatype* const found = find_of_fortran(kind, given(p), given(r));
    if (found == nullptr) return fail(MPI_ERR_ARG, "no type has so many digits, or such a range");
    *to = handle_of(*found);
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
