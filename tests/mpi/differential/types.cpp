// SPDX-License-Identifier: BSD-3-Clause
// Datatypes by themselves: bounds, sizes, packed data and data in external32.
#include <cstring>
#include <vector>

#include "cases.hpp"
#include "side.hpp"
#include "transfers.hpp"

namespace differential {

void bounds_of_types(scene& here) {
  for (int left = here.random.between(1, 6); left > 0; --left) {
    const layout of = random_layout(here.random, random_signature(here.random, 3));
    int size = 0;
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    here.must(MPI_Type_size(of.type, &size), "MPI_Type_size");
    here.must(MPI_Type_get_extent(of.type, &lower, &extent), "MPI_Type_get_extent");
    here.must(MPI_Type_get_true_extent(of.type, &true_lower, &true_extent), "MPI_Type_get_true_extent");
    here.log("size %d, bounds %ld %ld, true ones %ld %ld", size, lower, extent, true_lower, true_extent);
    here.expect(size == static_cast<int>(of.size()) && lower == of.lower && extent == of.extent &&
                    true_lower == of.true_lower() && true_extent == of.true_upper() - of.true_lower(),
                "size %zu, bounds %ld %ld, true ones %ld %ld are expected of %s", of.size(), of.lower, of.extent,
                of.true_lower(), of.true_upper() - of.true_lower(), of.text.c_str());
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    here.must(MPI_Type_get_envelope(of.type, &integers, &addresses, &types, &combiner), "MPI_Type_get_envelope");
    here.log("envelope: %d integers, %d addresses, %d types", integers, addresses, types);
  }
}

// Data packed by one layout, unpacked by another of equal signature.
void packed_data(scene& here) {
  for (int left = here.random.between(1, 4); left > 0; --left) {
    const transfer of = random_transfer(here, 3, true);
    transfer exact = of;
    exact.room = of.load.units;
    side from = sender_side(exact), into{random_source{exact.receiver_seed}, exact.load.unit, exact.room};
    const bool is_external = here.random.chance(50) && !is_left_out("external32");
    const std::size_t elements = exact.load.elements();
    std::vector<char> packed;
    MPI_Aint position = 0, size = 0;
    int at = 0, bytes = 0;
    if (is_external) {
      here.must(MPI_Pack_external_size("external32", from.count(), from.type(), &size), "MPI_Pack_external_size");
      packed.assign(static_cast<std::size_t>(size) + 1, 0);
      here.must(
          MPI_Pack_external("external32", from.address(), from.count(), from.type(), packed.data(), size, &position),
          "MPI_Pack_external");
      here.log("external32: %ld of %ld bytes, hash %016llx", position, size,
               static_cast<unsigned long long>(hash_of(packed.data(), packed.size())));
      here.expect(position == size, "%ld of %ld bytes are used", position, size);
      position = 0;
      here.must(
          MPI_Unpack_external("external32", packed.data(), size, &position, into.address(), into.count(), into.type()),
          "MPI_Unpack_external");
    } else {
      here.must(MPI_Pack_size(from.count(), from.type(), here.comm, &bytes), "MPI_Pack_size");
      packed.assign(static_cast<std::size_t>(bytes) + 1, 0);
      here.must(MPI_Pack(from.address(), from.count(), from.type(), packed.data(), bytes, &at, here.comm), "MPI_Pack");
      const int used = at;
      at = 0;
      here.must(MPI_Unpack(packed.data(), used, &at, into.address(), into.count(), into.type(), here.comm),
                "MPI_Unpack");
      here.expect(at == used, "%d of %d packed bytes are unpacked", at, used);
    }
    into.clear_padding(elements);
    here.log("unpacked: hash %016llx", static_cast<unsigned long long>(into.hash()));
    here.expect(into.is_right(exact.load.stream, elements), "%s: other bytes in %s, from %s",
                is_external ? "external32" : "packed", into.map().text.c_str(), from.map().text.c_str());
  }
}

}  // namespace differential
