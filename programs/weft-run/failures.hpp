// SPDX-License-Identifier: BSD-3-Clause
// Which rank failed first. Ranks that notice the death of a peer end, too, and their ends may be seen before its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

namespace weft::run {

struct failure {
  std::uint32_t rank;
  int status;  ///< as waitpid tells it
};

/// The order in which ranks left: by the hang-up of the connection of a rank that had joined the job, as the system
/// closes all descriptors of a process together, before peers can notice; else by the report of the rank's end.
class failures {
 public:
  using clock = std::chrono::steady_clock;

  explicit failures(std::uint32_t ranks) : ranks_(ranks) {}

  /// The rank's connection has hung up; only the first call for a rank counts.
  void note_left(std::uint32_t rank) noexcept {
    if (ranks_[rank].left_at == 0) ranks_[rank].left_at = ++time_;
  }
  /// The rank's process has ended.
  void note_end(std::uint32_t rank) noexcept {
    note_left(rank);
    ranks_[rank].has_ended = true;
  }
  /// The rank has ended, and not with 0.
  void add(const failure& added) {
    note_end(added.rank);
    waiting_.push_back(added);
  }

  /// Of the failures added since the last one was taken, that of the rank that left first. Nothing for a moment, until
  /// `look_again_at`, while a rank that left before has not ended yet.
  [[nodiscard]] std::optional<failure> take_first();
  [[nodiscard]] const std::optional<clock::time_point>& look_again_at() const noexcept { return look_again_at_; }

  /// The job ends because of this rank.
  void note_reported(std::uint32_t rank) noexcept { reported_ = ranks_[rank].left_at; }
  /// The job ends for a reason that is no rank's end.
  void note_reported() noexcept { reported_ = ++time_; }
  /// Whether the rank left before the one because of which the job ends.
  [[nodiscard]] bool is_earlier(std::uint32_t rank) const noexcept { return ranks_[rank].left_at < reported_; }

 private:
  struct one_rank {
    std::uint64_t left_at = 0;  // 0: it is there
    bool has_ended = false;
  };

  std::vector<one_rank> ranks_;
  std::uint64_t time_ = 0;
  std::uint64_t reported_ = 0;
  std::vector<failure> waiting_;
  std::optional<clock::time_point> look_again_at_;
};

}  // namespace weft::run
