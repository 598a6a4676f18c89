#include "mpi/objects/communicator.hpp"

#include <utility>

#include "mpi/objects/rank_state.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {
namespace {

bool has_order_of_job(const group& of, std::uint32_t ranks) {
  if (of.size() != ranks) return false;
  for (std::uint32_t member = 0; member < ranks; ++member) {
    if (of.world_rank(member) != member) return false;
  }
  return true;
}

}  // namespace

communicator::communicator(weft::runtime& of, std::uint32_t context, weft::group local, std::string called)
    : engine{of, {.id = context, .ordered = true}},
      members{std::move(local)},
      rank{members.rank()},
      size{members.size()},
      is_whole_job{has_order_of_job(members, of.size())},
      name{std::move(called)} {}

communicator* find_communicator(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_WORLD) [[likely]]
    return &rank.world;
  if (handle == MPI_COMM_SELF) return &rank.self;
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<communicator*>(handle);
  return found->kind == object_kind::communicator ? found : nullptr;
}

MPI_Comm handle_of(const rank_state& rank, communicator& of) noexcept {
  if (&of == &rank.world) return MPI_COMM_WORLD;
  return &of == &rank.self ? MPI_COMM_SELF : reinterpret_cast<MPI_Comm>(&of);
}

}  // namespace weft::mpi
