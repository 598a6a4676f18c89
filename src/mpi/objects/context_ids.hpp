// SPDX-License-Identifier: BSD-3-Clause
// The ids of communicators' engines: one number at all members, never used twice.
//
// The first member of a new communicator gives its id: its rank in the job, and its count of communicators. So no two
// ranks ever give one id, without a vote.
//
// A member remembers the ids that it has used as intervals, so each id between them that it never uses, as it is in
// another communicator, costs it memory. So ids for communicators of the same members follow each other: they are a
// stream, which has blocks of ids of its own, each twice as long as the one before. That bounds the intervals at a
// member by the logarithm of the number of communicators, for each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace weft::mpi {

/// Ids of MPI are from here on, below 2^31. Programs that use Weft beside MPI have the lower ones.
inline constexpr std::uint32_t first_context = 0x4000'0000;
inline constexpr std::uint32_t context_of_world = first_context;
inline constexpr std::uint32_t context_of_self = first_context + 1;
inline constexpr std::uint32_t context_of_agreements = first_context + 2;
/// No id: the first member has none left.
inline constexpr std::uint32_t no_context = 0;

/// Tells the members of communicators apart, mostly: streams of one number have their ids from one block.
using context_stream = std::uint64_t;

/// The ids that a rank gives. **Threads**: any.
class context_ids {
 public:
  /// So many streams have blocks; the one that was used least recently leaves its block to others.
  static constexpr std::size_t streams_max = 1024;

  context_ids(std::uint32_t rank, std::uint32_t ranks) noexcept;

  /// An id that no communicator has had; `no_context` if none is left. **Errors**: std::bad_alloc.
  [[nodiscard]] std::uint32_t take(context_stream stream);
  /// An id that `take` gave and that no member has used.
  void release(std::uint32_t id, context_stream stream) noexcept;

 private:
  // Ids from `next` on, below `end`.
  struct block {
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    [[nodiscard]] std::uint32_t size() const noexcept { return end - next; }
  };
  struct stream_state {
    block ids;
    std::uint32_t block_size = 0;  // the size of its newest block
    std::uint64_t last_use = 0;
  };

  stream_state& find(context_stream stream);
  [[nodiscard]] block take_block(std::uint32_t wanted) noexcept;
  [[nodiscard]] std::uint32_t take_of_others() noexcept;

  std::mutex mutex_;
  block unused_;             // ids that no stream has had
  block last_;               // more of them, which are given last
  std::vector<block> left_;  // the rest of dropped streams' blocks, and released ids
  std::unordered_map<context_stream, stream_state> streams_;
  std::uint64_t uses_ = 0;
};

}  // namespace weft::mpi
