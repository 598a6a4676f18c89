// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/environment/open_operations.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "mpi/error/error.hpp"
#include "mpi/message/describe.hpp"
#include "mpi/rank/progress.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/device.hpp"
#include "weft/runtime.hpp"

namespace weft::mpi {
namespace {

// Lines about operations, at most so many. The same line is written once, with a number.
class open_lines {
 public:
  void add(std::string text) { ++counts_[std::move(text)]; }
  void write(std::uint32_t rank) const noexcept {
    constexpr std::size_t lines_max = 8;
    std::size_t lines = 0;
    for (const auto& [text, count] : counts_) {
      if (++lines > lines_max) break;
      const std::string more = count > 1 ? ", and " + std::to_string(count - 1) + " more like it" : "";
      std::fprintf(stderr, "MPI_Finalize of rank %u: warning: the program has not completed %s%s\n", rank, text.c_str(),
                   more.c_str());
    }
    if (counts_.size() > lines_max)
      std::fprintf(stderr, "MPI_Finalize of rank %u: warning: and %zu others\n", rank, counts_.size() - lines_max);
  }

 private:
  std::map<std::string, std::size_t> counts_;
};

std::string text_of(const message& message) {
  return "the receive of a message that a probe has matched, " + text_of("from ", envelope_of(message), message.comm);
}

class last_operations {
 public:
  explicit last_operations(rank_state& rank)
      : rank_{rank}, streams_{rank.vcis.streams().all()}, communicators_{rank.communicators.all()} {
    communicators_.insert(communicators_.end(), {&rank.world, &rank.self});
  }

  void name_and_free() {
    open_lines lines;
    rank_.requests.free_open([&](const request& req) { lines.add(text_of(req)); });
    rank_.messages.each([&](const message& message) { lines.add(text_of(message)); });
    lines.write(rank_.world.rank);
  }

  // Returns an error class.
  [[nodiscard]] int pass_barrier() noexcept {
    return guarded([&] {
      constexpr std::chrono::milliseconds time_min{1}, time_max{100};
      std::chrono::milliseconds time = time_min;
      const weft::detail::wait_name listed{"MPI_Finalize"};
      while (!rank_.runtime.barrier({.timeout = time})) {
        if (!rank_.vcis.have_global_progress()) progress_on(rank_.vcis.devices());
        for (stream* const each : streams_) each->device.progress();
        const bool has_dropped = drop_messages();
        time = has_dropped ? time_min : std::min(2 * time, time_max);
      }
      return MPI_SUCCESS;
    });
  }

  void end_all() {
    rank_.messages.clear();
    rank_.vcis.cancel_receives();
    for (stream* const each : streams_) each->own_vci.pending.receives.cancel_all();
    rank_.requests.cancel_receives();
    for (communicator* const each : communicators_) each->members.abandon();
    rank_.requests.abandon_persistent();
    wait_at_end(rank_, "MPI_Finalize", [&] {
      drop_messages();
      return !have_sends() && rank_.requests.release_done() == 0 && rank_.buffered.are_sent();
    });
  }

 private:
  [[nodiscard]] bool have_sends() const noexcept {
    const auto has_some = [](const stream* each) { return !each->own_vci.pending.sends.is_empty(); };
    return rank_.vcis.have_sends() || std::ranges::any_of(streams_, has_some);
  }
  // Returns whether there were any.
  bool drop_messages() noexcept {
    std::size_t dropped = 0;
    for (communicator* const each : communicators_) dropped += each->engine.drop_messages();
    return dropped != 0;
  }

  rank_state& rank_;
  std::vector<stream*> streams_;  // no other thread is in one now
  std::vector<communicator*> communicators_;
};

}  // namespace

int end_operations(rank_state& rank) noexcept {
  return guarded([&] {
    last_operations last{rank};
    last.name_and_free();
    // All ranks are here: what has not been received will never be.
    const int first = last.pass_barrier();
    if (first != MPI_SUCCESS && first != MPI_ERR_PROC_ABORTED) return first;
    last.end_all();
    // All ranks have ended their operations, for which others had to make progress.
    const int second = last.pass_barrier();
    return first != MPI_SUCCESS ? first : second;
  });
}

}  // namespace weft::mpi
