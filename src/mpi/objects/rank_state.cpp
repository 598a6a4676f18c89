#include "mpi/objects/rank_state.hpp"

#include <array>
#include <climits>
#include <utility>

#include "weft/group.hpp"

namespace weft::mpi {
namespace {

// The first engines: their ids are the same at all ranks.
constexpr std::uint32_t context_of_world = 1;
constexpr std::uint32_t context_of_self = 2;

group only(weft::runtime& of) {
  const std::array<std::uint32_t, 1> members{of.rank()};
  return make_group(of, members);
}

}  // namespace

namespace detail {
constinit rank_slot process_slot;
// Of the thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local rank_slot* thread_slot = nullptr;
}  // namespace detail

rank_state::rank_state(std::unique_ptr<weft::runtime> made, weft::runtime& of, int level)
    : own_runtime{std::move(made)},
      runtime{of},
      device{of.default_device()},
      thread_level{level},
      main_thread{std::this_thread::get_id()},
      signals{of},
      requests{level == MPI_THREAD_MULTIPLE},
      unposted{device, signals},
      world{of, context_of_world, of.world(), "MPI_COMM_WORLD"},
      self{of, context_of_self, only(of), "MPI_COMM_SELF"} {
  attributes.predefined = {.tag_max = INT_MAX,
                           .io = MPI_ANY_SOURCE,
                           .host = MPI_PROC_NULL,
                           .wtime_is_global = 0,
                           .program = 0,
                           .universe_size = static_cast<int>(of.size())};
}

void be_thread_of(rank_slot* slot) noexcept { detail::thread_slot = slot; }

}  // namespace weft::mpi
