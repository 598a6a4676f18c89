// SPDX-License-Identifier: BSD-3-Clause
// How a collective is carried out: waited for, started with a request, or kept for many starts; and what it needs until
// it is complete.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "mpi.h"
#include "mpi/collective/block_buffer.hpp"
#include "mpi/collective/refusal.hpp"
#include "mpi/collective/user_reduction.hpp"
#include "mpi/datatype/datatype.hpp"
#include "mpi/error/error.hpp"
#include "mpi/message/failed_member.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/collectives.hpp"

namespace weft::mpi {

/// A block as a program describes it, or as many as there are members.
struct program_block {
  const void* address;
  MPI_Count count;
  MPI_Datatype type;
};

/// The communicator of a collective, and the request that it starts. Without a request, the caller waits.
struct collective_call {
  communicator& comm;
  rank_state* rank = nullptr;  // set together with `request`
  MPI_Request* request = nullptr;
  bool is_persistent = false;
};

/// What Weft refers to while a collective runs, beside the buffers of the program. Made where it is needed: a
/// collective of contiguous data of predefined types has none.
class collective_parts {
 public:
  /// `outlive_call`: the collective does, and so keeps datatypes whose handles the program may free.
  explicit collective_parts(bool outlive_call) noexcept : keeps_types_{outlive_call} {}
  [[nodiscard]] bool are_none() const noexcept { return all_ == nullptr; }

  /// The elements of `times` blocks; empty ones have an address, too. **Errors**: `refusal`.
  [[nodiscard]] buffer_ref elements(const program_block& block, std::uint64_t times = 1);
  [[nodiscard]] buffer_ref elements(const void* address, MPI_Count count, const datatype& type);
  /// **Errors**: `refusal`; std::bad_alloc.
  [[nodiscard]] block_buffer& blocks(const collective_call& call, const program_blocks& described);
  [[nodiscard]] block_lists& lists(const collective_call& call, number_list counts, const datatype& type);
  /// How elements of `type` are combined; the caller has checked that they can be.
  [[nodiscard]] reduction reduction_by(MPI_Op op, const datatype& type);

 private:
  struct parts {
    std::vector<datatype_ref> types;
    std::array<std::optional<block_buffer>, 2> blocks;  // received, sent
    std::optional<block_lists> lists;
    std::optional<user_reduction> user;
  };
  [[nodiscard]] parts& all() {
    if (all_ == nullptr) all_ = std::make_unique<parts>();
    return *all_;
  }

  bool keeps_types_;
  std::unique_ptr<parts> all_;
};

/// No start of MPI waits for other ranks, and none is refused because they are behind.
inline constexpr collective_options options_of_start{.allow_backlog_full = false};

/// Starts it, or keeps it, as `call` says. **Errors**: those of the start; std::bad_alloc.
int start(const collective_call& call, const collective& operation, collective_parts&& parts);

/// Runs `body`, which carries out a collective in this communicator. **Returns**: an error class.
template <class Body>
[[nodiscard]] int guarded_in(communicator& comm, const Body& body) noexcept {
  return guarded([&] {
    try {
      return body();
    } catch (const refusal& refused) {
      return refused.error_class;
    } catch (const weft::error& failed) {
      if (failed.code() != errc::peer_failed) throw;
    }
    return class_of_failed_member(*current_rank(), comm);
  });
}

/// Carries out the collective that `make` makes of the arguments. **Returns**: an error class.
template <class Make>
[[nodiscard]] int carry_out(const collective_call& call, const Make& make) noexcept {
  return guarded_in(call.comm, [&] {
    collective_parts parts{call.request != nullptr};
    const collective operation = make(parts);
    if (call.request != nullptr) return start(call, operation, std::move(parts));
    operation.run(call.comm.members);
    return MPI_SUCCESS;
  });
}

/// Waits for a collective that needs nothing but its buffers: this costs few instructions more than Weft's own.
template <class Make>
[[nodiscard]] int run_directly(communicator& comm, const Make& make) noexcept {
  return guarded_in(comm, [&] {
    make().run(comm.members);
    return MPI_SUCCESS;
  });
}

/// Whether it is a buffer of one piece, of elements of a basic type; then `bytes` are its bytes.
[[nodiscard]] inline bool try_bytes_of_piece(const void* address, MPI_Count count, const datatype& type,
                                             std::size_t& bytes) noexcept {
  std::int64_t found = 0;
  const bool is_one =
      type.is_predefined() && type.element() != nullptr && !is_predefined(address) && type.try_bytes_of(count, found);
  bytes = static_cast<std::size_t>(found);
  return is_one;
}

}  // namespace weft::mpi
