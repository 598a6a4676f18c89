// SPDX-License-Identifier: BSD-3-Clause
// The receives of one thread in a run of all operations: posted at various times, cancelled and posted again, probed
// for, too short, with wildcards; each checked byte by byte.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "support/all_operations_rank.hpp"

namespace weft::test::all_operations {

class receiver {
 public:
  receiver(rank_state& rank, device& dev, std::uint32_t thread, all_operations_summary& counts);

  /// Posts the receives that have to be posted before this thread may flush.
  void post_first();
  /// Takes completed receives, and posts some more.
  void serve();
  /// Cancels one that is posted, if there is any, and one that nothing is ever sent to.
  void cancel();
  [[nodiscard]] bool is_through() const noexcept {
    return waiting_.empty() && posted_.empty() && probing_.empty() && found_.empty() && ordered_left_ == 0;
  }
  /// For people: the missing messages.
  [[nodiscard]] std::string missing() const;

 private:
  struct incoming {
    const plan* planned = nullptr;  // null where any of some messages may come
    std::vector<std::byte> bytes;
    std::size_t room = 0;
    std::array<buffer_ref, 3> pieces;
    std::uint64_t ticket = 0;
    bool is_list = false;
    bool is_cancelled = false;
    bool is_ordered = false;
    bool is_complete = false;
    // Of an ordered one, once it is complete.
    std::uint32_t source = 0;
    std::uint64_t tag = 0;
    std::uint64_t message_bytes = 0;
  };

  [[nodiscard]] bool is_wild(const plan& planned) const noexcept {
    return planned.policy == match_policy::rank_only || planned.policy == match_policy::none;
  }
  [[nodiscard]] std::unique_ptr<incoming> make(const plan* planned, std::size_t room, bool as_list) const;
  /// False: not now.
  bool try_post(const plan& planned);
  bool try_post(std::unique_ptr<incoming> made, std::uint32_t peer, const post_recv_options& options);
  void post_some_ordered();
  void probe_some();
  void take(completion_record record);
  void check(const incoming& done, const plan& planned, const completion_record& record) const;
  void check_ordered();

  rank_state& rank_;
  device& dev_;
  std::uint32_t thread_;
  all_operations_summary& counts_;
  dice random_;
  completion_queue completed_;
  std::vector<const plan*> first_, waiting_, probing_;
  std::unordered_map<const incoming*, std::unique_ptr<incoming>> posted_;
  std::vector<std::pair<const plan*, matched_message>> found_;  // by a probe, not received yet
  // Ordered ones: by source the sends to come; the posted receives, in their order.
  bool any_rank_, any_tag_;
  std::vector<std::vector<const plan*>> ordered_;
  std::vector<std::size_t> ordered_posted_, ordered_checked_;
  std::uint32_t ordered_source_ = 0;
  std::uint64_t ordered_left_ = 0, ordered_to_post_ = 0;
  std::deque<incoming*> ordered_pending_;
  std::deque<std::unique_ptr<incoming>> ordered_owned_;
};

}  // namespace weft::test::all_operations
