// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/split_type.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "mpi/communicator/create.hpp"
#include "mpi/communicator/hardware.hpp"
#include "mpi/info/info.hpp"
#include "mpi/objects/error.hpp"
#include "mpi/objects/rank_state.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {
namespace {

using optional_color = std::optional<std::int64_t>;

// Ranks of one node share memory, as Weft sees it.
std::int64_t color_of_node(const rank_state& rank) noexcept { return rank.runtime.node_of(rank.world.rank); }

// The members of one color use one resource.
optional_color color_of_hardware(const rank_state& rank, hardware_kind kind) {
  const std::optional<std::uint32_t> number = own_hardware(kind);
  if (!number) return std::nullopt;
  return (static_cast<std::int64_t>(kind) + 1) << 56 | color_of_node(rank) << 16 | *number;
}

// By the name of a kind. No name that is known: no communicator, as the standard says.
optional_color guided_color(const rank_state& rank, const info* given) {
  const std::optional<std::string> name = given != nullptr ? given->find("mpi_hw_resource_type") : std::nullopt;
  if (!name) return std::nullopt;
  if (*name == "mpi_shared_memory") return color_of_node(rank);
  const std::optional<hardware_kind> kind = hardware_of(*name);
  return kind ? color_of_hardware(rank, *kind) : std::nullopt;
}

// The colors of a member for each kind of resource, the node first; -1: none; all of them `absent`: it names no type.
using colors_of_member = std::array<std::int64_t, names_of_hardware.size() + 1>;
constexpr std::int64_t absent = -2;

colors_of_member colors_of(const rank_state& rank, int type, const info* given) {
  colors_of_member out;
  out.fill(type == MPI_UNDEFINED ? absent : -1);
  switch (type) {
    case MPI_COMM_TYPE_SHARED: out.front() = color_of_node(rank); break;
    case MPI_COMM_TYPE_HW_GUIDED:
    case MPI_COMM_TYPE_RESOURCE_GUIDED: out.front() = guided_color(rank, given).value_or(-1); break;
    case MPI_COMM_TYPE_HW_UNGUIDED:
      out.front() = color_of_node(rank);
      for (std::size_t kind = 0; kind < names_of_hardware.size(); ++kind)
        out[kind + 1] = color_of_hardware(rank, static_cast<hardware_kind>(kind)).value_or(-1);
      break;
    default: break;
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
    const colors_of_member own = colors_of(rank, type, given);
    std::vector<colors_of_member> all(parent.size);
    collective::allgather({own.data(), sizeof own}, {all.data(), all.size() * sizeof own}).run(parent.members);
    std::optional<std::size_t> kind = 0;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED) kind = first_difference(all);
    const bool has_color = kind && own[*kind] >= 0;
    if (type == MPI_COMM_TYPE_HW_UNGUIDED && has_color && given != nullptr)
      given->set("mpi_hw_resource_type", *kind == 0 ? "mpi_shared_memory" : names_of_hardware[*kind - 1]);
    *out = handle_or_null(split_by(rank, parent, has_color ? optional_color{own[*kind]} : std::nullopt, key));
    return MPI_SUCCESS;
  });
}

}  // namespace weft::mpi
