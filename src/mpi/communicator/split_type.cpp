// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/split_type.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "mpi/communicator/create.hpp"
#include "mpi/communicator/hardware.hpp"
#include "mpi/communicator/machines.hpp"
#include "mpi/error/error.hpp"
#include "mpi/info/hints.hpp"
#include "mpi/info/info.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {
namespace {

using optional_color = std::optional<std::int64_t>;

// The members of one color use one resource of one machine: the number of the machine is added when all are known.
constexpr std::int64_t color_of_machine = 0;
constexpr int kind_bit = 56, machine_bit = 24;
optional_color color_of_hardware(hardware_kind kind) {
  const std::optional<std::uint32_t> number = own_hardware(kind);
  if (!number) return std::nullopt;
  return (static_cast<std::int64_t>(kind) + 1) << kind_bit | *number;
}

// The color for the name of a kind. An unknown name gives no communicator, as the standard says.
optional_color guided_color(const info* given) {
  const std::optional<std::string> name = given != nullptr ? given->find("mpi_hw_resource_type") : std::nullopt;
  if (!name) return std::nullopt;
  if (*name == "mpi_shared_memory") return color_of_machine;
  const std::optional<hardware_kind> kind = hardware_of(*name);
  return kind ? color_of_hardware(*kind) : std::nullopt;
}

// The colors of a member for each kind of resource, the machine first; -1: none; all of them `absent`: it names no
// type.
using colors_of_member = std::array<std::int64_t, names_of_hardware.size() + 1>;
constexpr std::int64_t absent = -2;

colors_of_member colors_of(int type, const info* given) {
  colors_of_member out;
  out.fill(type == MPI_UNDEFINED ? absent : -1);
  switch (type) {
    case MPI_COMM_TYPE_SHARED: out.front() = color_of_machine; break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED: out.front() = guided_color(given).value_or(-1); break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      out.front() = color_of_machine;
      for (std::size_t kind = 0; kind < names_of_hardware.size(); ++kind)
        out[kind + 1] = color_of_hardware(static_cast<hardware_kind>(kind)).value_or(-1);
      break;
    default: break;
  }
  return out;
}

// The colors of all members, by an exchange.
std::vector<colors_of_member> gathered_colors(const rank_state& rank, communicator& parent,
                                              const colors_of_member& own) {
  struct member {
    colors_of_member colors;
    machine_of_member machine;
  };
  const member mine{own, {own_machine(), rank.runtime.node_of(rank.world.rank)}};
  std::vector<member> all(parent.size);
  collective::allgather({&mine, sizeof mine}, all).run(parent.members);
  std::vector<machine_of_member> all_machines;
  for (const member& each : all) all_machines.push_back(each.machine);
  const std::vector<std::uint32_t> machines = numbers_of_machines(all_machines);
  std::vector<colors_of_member> out;
  for (std::size_t index = 0; index < all.size(); ++index) {
    out.push_back(all[index].colors);
    for (std::int64_t& color : out.back()) {
      if (color >= 0) color |= static_cast<std::int64_t>(machines[index]) << machine_bit;
    }
  }
  return out;
}

// The outermost resource that not all members have in common, so that each part is smaller than the whole; nothing if
// they have all in common.
std::optional<std::size_t> first_difference(const std::vector<colors_of_member>& all) {
  for (std::size_t kind = 0; kind < all.front().size(); ++kind) {
    const bool is_common = std::ranges::all_of(
        all, [&](const auto& each) { return each[kind] == all.front()[kind] && each[kind] != absent; });
    if (!is_common) return kind;
  }
  return std::nullopt;
}

}  // namespace

int split_by_type(rank_state& rank, communicator& parent, int type, int key, info* given, MPI_Comm* out) noexcept {
  const bool is_known =
      type == MPI_UNDEFINED || (type >= MPI_COMM_TYPE_SHARED && type <= MPI_COMM_TYPE_RESOURCE_GUIDED);
  if (!is_known) return fail(MPI_ERR_ARG, "split type %d", type);
  return guarded([&] {
    // A member that names no type does not know the type that others name: an exchange for all of them.
    const std::vector<colors_of_member> all = gathered_colors(rank, parent, colors_of(type, given));
    const colors_of_member& own = all[parent.rank];
    std::optional<std::size_t> kind = 0;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED) kind = first_difference(all);
    const bool has_color = kind && own[*kind] >= 0;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED && has_color && given != nullptr)
      given->set("mpi_hw_resource_type", *kind == 0 ? "mpi_shared_memory" : names_of_hardware[*kind - 1]);
    communicator* const made = split_by(rank, parent, has_color ? optional_color{own[*kind]} : std::nullopt, key);
    if (made != nullptr) made->hints.set(read_hints(given));
    *out = handle_or_null(made);
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
