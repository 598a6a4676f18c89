// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rank/rank_state.hpp"

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "weft/group.hpp"

namespace weft::mpi {
namespace {

// The number of this rank's program among those of the job, where the launcher says it; 0 for one program.
int number_of_program() noexcept {
  const char* const text = std::getenv("PMI_APPNUM");
  int out = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), out);
  return out;
}

communicator_parts world_of(weft::runtime& runtime) {
  std::vector<std::uint32_t> all(runtime.size());
  std::iota(all.begin(), all.end(), 0);
  return {.context = context_of_world,
          .members = runtime.world(),
          .local = std::make_shared<process_group>(std::move(all)),
          .name = "MPI_COMM_WORLD"};
}

communicator_parts self_of(weft::runtime& runtime) {
  const std::vector<std::uint32_t> only{runtime.rank()};
  return {.context = context_of_self,
          .members = make_group(runtime, only, 0, {.name = context_of_self}),
          .local = std::make_shared<process_group>(only),
          .name = "MPI_COMM_SELF"};
}

}  // namespace

namespace detail {
constinit rank_slot process_slot;
// The state of the thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local thread_state this_thread;
}  // namespace detail

rank_state::rank_state(mpi::session started)
    : session{std::move(started)},
      runtime{*session.runtime},
      device{runtime.default_device()},
      signals{runtime},
      vcis{runtime, signals, session.vcis},
      world{runtime, vcis.first(), world_of(runtime)},
      self{runtime, vcis.first(), self_of(runtime)},
      communicators{runtime} {
  attributes.predefined = {.tag_max = INT_MAX,
                           .io = MPI_ANY_SOURCE,
                           .host = MPI_PROC_NULL,
                           .wtime_is_global = 0,
                           .program = number_of_program(),
                           .universe_size = static_cast<int>(runtime.size())};
}

communicator* find_other_communicator(rank_state& rank, MPI_Comm handle) noexcept {
  if (handle == MPI_COMM_SELF) return &rank.self;
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<communicator*>(handle);
  const bool is_one = found->kind == object_kind::communicator || found->kind == object_kind::stream_communicator;
  return is_one ? found : nullptr;
}

MPI_Comm handle_of(const rank_state& rank, communicator& comm) noexcept {
  if (&comm == &rank.world) return MPI_COMM_WORLD;
  return &comm == &rank.self ? MPI_COMM_SELF : reinterpret_cast<MPI_Comm>(&comm);
}

info* find_info(rank_state* rank, MPI_Info handle) noexcept {
  return handle == MPI_INFO_ENV && rank != nullptr ? rank->environment.get() : find_info(handle);
}

void be_thread_of(rank_slot* slot) noexcept { detail::this_thread.slot = slot; }

}  // namespace weft::mpi
