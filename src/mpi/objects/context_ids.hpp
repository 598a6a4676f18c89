// SPDX-License-Identifier: BSD-3-Clause
// The ids of communicators' engines: one number at all members, never used twice.
//
// The first member of a new communicator gives its id: its rank in the job, and its count of communicators. So no two
// ranks ever give one id, without a vote.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

namespace weft::mpi {

/// Ids of MPI are from here on, below 2^31. Programs that use Weft beside MPI have the lower ones.
inline constexpr std::uint32_t first_context = 0x4000'0000;
inline constexpr std::uint32_t context_of_world = first_context;
inline constexpr std::uint32_t context_of_self = first_context + 1;
inline constexpr std::uint32_t context_of_agreements = first_context + 2;
/// No id: the first member has none left.
inline constexpr std::uint32_t no_context = 0;

/// The ids that a rank gives. **Threads**: any.
class context_ids {
 public:
  context_ids(std::uint32_t rank, std::uint32_t ranks) noexcept;

  /// An id that no communicator has had; `no_context` if none is left.
  [[nodiscard]] std::uint32_t take() noexcept;
  /// An id that `take` gave and that no member has used.
  void give_back(std::uint32_t id) noexcept;

 private:
  std::mutex mutex_;
  std::uint32_t next_;
  std::uint32_t end_;
  std::vector<std::uint32_t> returned_;
};

}  // namespace weft::mpi
