// SPDX-License-Identifier: BSD-3-Clause
// MPI_Type_get_contents.
#include <type_traits>
#include <vector>

#include "mpi/datatype/contents.hpp"
#include "mpi/datatype/fortran.hpp"
#include "mpi/error/error.hpp"
#include "mpi/objects/datatype_handle.hpp"
#include "mpi/type/inquiries.hpp"

namespace weft::mpi {
namespace {

static_assert(std::is_same_v<MPI_Aint, std::int64_t>, "the engine writes addresses");

template <class Element>
bool is_room(const room_for<Element>& room, MPI_Count needed) noexcept {
  return room.count >= needed && (needed == 0 || room.elements != nullptr);
}
template <class Element>
std::span<Element> span_of(const room_for<Element>& room) noexcept {
  return {room.elements, room.elements == nullptr ? 0 : static_cast<std::size_t>(room.count)};
}

// A type that is equal, with a handle and attributes of its own: the caller frees it, and the original lives on.
// **Errors**: std::bad_alloc.
datatype_ref fresh(const datatype& old) {
  if (old.is_predefined() || is_of_fortran(old)) return datatype_ref{old};
  type_map map = old.map();
  constructor_arguments from = old.constructor();
  datatype_ref out = datatype_ref::adopt(new datatype{std::move(map), std::move(from)});
  if (old.is_committed()) out->commit();
  return out;
}

}  // namespace

int get_contents(const datatype& type, room_for<int> integers, room_for<MPI_Aint> addresses,
                 room_for<MPI_Count> large_counts, room_for<MPI_Datatype> types) noexcept {
  const type_envelope needed = envelope_of(type);
  if (needed.kind == combiner::named) return fail(MPI_ERR_TYPE, "a predefined datatype has no contents");
  if (!is_room(integers, needed.integers) || !is_room(addresses, needed.addresses) ||
      !is_room(large_counts, needed.large_counts) || !is_room(types, needed.types))
    return fail(MPI_ERR_ARG, "an array is shorter than the envelope says");
  return guarded([&] {
    std::vector<datatype_ref> made;
    for (const datatype_ref& each : type.constructor().types) made.push_back(fresh(*each));
    std::vector<const datatype*> originals(made.size());
    const error_class failure =
        contents_of(type, span_of(integers), span_of(addresses), span_of(large_counts), originals);
    if (failure != error_class::success) return static_cast<int>(failure);
    for (std::size_t index = 0; index < made.size(); ++index) {
      types.elements[index] = handle_of(*made[index].release());
      datatype::remove_reference(originals[index]);
    }
    return MPI_SUCCESS;
  });
}

int get_contents(const datatype& type, room_for<int> integers, room_for<MPI_Aint> addresses,
                 room_for<MPI_Datatype> types) noexcept {
  if (envelope_of(type).large_counts != 0)
    return fail(MPI_ERR_TYPE, "the datatype was made with counts of MPI_Count: ask the function that ends in _c");
  return get_contents(type, integers, addresses, {0, nullptr}, types);
}

}  // namespace weft::mpi
