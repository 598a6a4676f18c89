// SPDX-License-Identifier: BSD-3-Clause
// Collectives of a checked run (WEFT_CHECK=1): before its steps the members compare their calls.
//
// The calls go around as a dissemination barrier does, log n rounds of a message to one member: each message has the
// call of one of the members that its sender has heard of, and the first other call that was found. So all members find
// out alike, and none begins with calls that differ: each ends with an error that names two members and their calls. A
// checked collective ends at no member before all have started it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "coll/args/collective_args.hpp"
#include "coll/group/group_state.hpp"
#include "coll/schedule/algorithm.hpp"
#include "coll/schedule/schedule.hpp"
#include "weft/collectives.hpp"
#include "weft/graph.hpp"

namespace weft::coll {

/// The call of a member, which members compare. It has no padding: two are equal if their bytes are.
struct compared_call {
  std::uint32_t operation = 0;
  std::uint32_t algorithm = 0;  // its index in the table
  std::uint32_t root = 0;
  std::uint32_t form = 0;   // bits, see below
  std::uint64_t bytes = 0;  // the size of a block; with lists, a hash of the sizes that all members give
  std::uint64_t element_bytes = 0;
  std::uint64_t function = 0;  // `reduction::identity`

  // Bits of `form`.
  static constexpr std::uint32_t has_lists = 1;
  static constexpr std::uint32_t is_in_order = 2;
  static constexpr std::uint32_t is_inplace = 4;  // set for alltoall alone
  static constexpr std::uint32_t was_refused = 8;

  [[nodiscard]] bool operator==(const compared_call&) const noexcept = default;
};

/// The call of this member.
[[nodiscard]] compared_call call_of(const collective_args& args, const algorithm& algorithm,
                                    const reduction& reduction) noexcept;
/// One whose arguments this member has refused.
[[nodiscard]] compared_call refused_call(operation which) noexcept;
/// `broadcast by binomial, root 2, 800 bytes`.
[[nodiscard]] std::string text_of(const compared_call& call);

/// The comparison before the steps of a run.
class comparison {
 public:
  /// **Errors**: std::bad_alloc.
  comparison(const group_state& group, const compared_call& mine);
  comparison(const comparison&) = delete;
  comparison& operator=(const comparison&) = delete;

  /// Adds it to the graph of the run. **Returns** the node before which no step may run. That node fails, with a text
  /// about both calls, if calls differ. **Errors**: std::bad_alloc.
  [[nodiscard]] graph_node add_to(graph& steps);
  /// Prepares each start. `tag`: the tag of its messages.
  void begin(std::uint64_t tag) noexcept;
  /// Whether the steps are not to be done. Behind the node of `add_to`.
  [[nodiscard]] bool has_refused() const noexcept { return has_refused_; }
  /// Whether a receive has met the message of a member that has failed (failed_message.hpp). For the end of the run.
  [[nodiscard]] bool is_told_of_failure() const noexcept { return is_told_of_failure_; }

  /// The steps' last node: messages of other sizes than this member wants are refused. `receives` and `received` are of
  /// one length: the receives of the run as nodes and as steps.
  void refuse_other_sizes(graph& steps, const std::vector<graph_node>& receives,
                          const std::vector<const step*>& received);

 private:
  struct heard {
    std::uint32_t member;
    std::uint32_t other_member;
    std::uint32_t differs;
    std::uint32_t unused;
    compared_call call;
    compared_call other;
  };

  [[nodiscard]] status send(std::uint32_t round, completion& local);
  [[nodiscard]] status receive(std::uint32_t round, completion& local);
  void merge(std::uint32_t round, std::uint64_t arrived_bytes);
  void decide();
  [[nodiscard]] std::uint32_t member_at(std::uint32_t distance) const noexcept;

  const group_state& group_;
  std::uint32_t rounds_;
  std::vector<heard> sent_;      // one for each round; the last one is the result
  std::vector<heard> received_;  // one for each round
  std::uint64_t tag_ = 0;
  bool has_refused_ = false;
  bool is_told_of_failure_ = false;
};

/// Lies on the stack of a call that starts collectives of a checked group. **Errors**: invalid_state if another thread
/// is in such a call of this group.
class only_thread {
 public:
  explicit only_thread(group_state& group, operation which);
  ~only_thread();
  only_thread(const only_thread&) = delete;
  only_thread& operator=(const only_thread&) = delete;

 private:
  group_state& group_;
  bool has_entered_;
};

}  // namespace weft::coll
