// SPDX-License-Identifier: BSD-3-Clause
#include "communicators.hpp"

#include "random_source.hpp"

namespace differential {
namespace {

MPI_Comm world(std::uint64_t) { return MPI_COMM_WORLD; }

MPI_Comm duplicate(std::uint64_t) {
  MPI_Comm out = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &out);
  return out;
}

int world_rank() {
  int out = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &out);
  return out;
}

int world_size() {
  int out = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &out);
  return out;
}

// Two halves, or all ranks in another order.
MPI_Comm split(std::uint64_t seed) {
  random_source random{seed};
  const int colors = random.between(1, 2), rank = world_rank();
  const int color = static_cast<int>(mix(seed + static_cast<std::uint64_t>(rank)) % static_cast<std::uint64_t>(colors));
  const int key = static_cast<int>(mix(seed * 3 + static_cast<std::uint64_t>(rank)) % 5);
  MPI_Comm out = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, color, key, &out);
  return out;
}

// Some ranks in another order, at least one.
MPI_Group random_group(std::uint64_t seed) {
  random_source random{seed};
  std::vector<int> ranks;
  for (int each = 0; each < world_size(); ++each) ranks.push_back(each);
  random.shuffle(ranks);
  MPI_Group all = MPI_GROUP_NULL, out = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, random.between(1, world_size()), ranks.data(), &out);
  MPI_Group_free(&all);
  return out;
}

MPI_Comm of_group(std::uint64_t seed) {
  MPI_Group members = random_group(seed);
  MPI_Comm out = MPI_COMM_NULL;
  MPI_Comm_create(MPI_COMM_WORLD, members, &out);
  MPI_Group_free(&members);
  return out;
}

MPI_Comm of_members(std::uint64_t seed) {
  MPI_Group members = random_group(seed);
  MPI_Comm out = MPI_COMM_NULL;
  int rank = MPI_UNDEFINED;
  MPI_Group_rank(members, &rank);
  if (rank != MPI_UNDEFINED) MPI_Comm_create_group(MPI_COMM_WORLD, members, 7, &out);
  MPI_Group_free(&members);
  return out;
}

MPI_Comm cartesian(std::uint64_t seed) {
  random_source random{seed};
  int sides[2] = {random.between(1, 2), 1}, wraps[2] = {random.between(0, 1), random.between(0, 1)};
  if (sides[0] > world_size()) sides[0] = 1;
  sides[1] = world_size() / sides[0];
  MPI_Comm out = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sides, wraps, 0, &out);
  return out;
}

}  // namespace

const std::vector<named_kind>& kinds_of_communicators() {
  static const std::vector<named_kind> all{{"world", world},           {"duplicate", duplicate},
                                           {"split", split},           {"of_group", of_group},
                                           {"of_members", of_members}, {"cartesian", cartesian}};
  return all;
}

}  // namespace differential
