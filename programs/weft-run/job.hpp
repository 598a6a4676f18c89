// SPDX-License-Identifier: BSD-3-Clause
// A running job: its event loop, the PMI-1 requests of its ranks, and its end: by a rank that fails, a signal, the
// time, or the last rank's end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft-run/deadlines.hpp"
#include "weft-run/end_reasons.hpp"
#include "weft-run/event_loop.hpp"
#include "weft-run/failures.hpp"
#include "weft-run/launch.hpp"
#include "weft-run/live_ranks.hpp"
#include "weft-run/messages.hpp"
#include "weft-run/options.hpp"
#include "weft-run/other_mpi.hpp"
#include "weft-run/pmi_server.hpp"
#include "weft-run/rank_output.hpp"
#include "weft-run/wait_reports.hpp"

namespace weft::run {

class job {
 public:
  /// Starts the ranks. **Errors** weft::error.
  job(const options& chosen, const inherited_state& inherited, const binding& bind, char** argv);

  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Serves them until none is left. **Returns** weft-run's exit code.
  [[nodiscard]] int run();

  /// A line of weft-run's own among the output.
  void say(const std::string& text) { output_.say(text); }

 private:
  void dispatch(ready_source ready);
  [[nodiscard]] int milliseconds_to_wait(clock::time_point checked_at) const;
  clock::time_point check_deadlines();
  [[nodiscard]] bool is_over() const;

  void serve_pmi(std::uint32_t rank);
  void send_pmi_replies();

  void read_events();
  void rank_ended(std::uint32_t rank, int status);
  void warn_of_other_mpi(std::uint32_t rank);
  void report_first_failure();
  void guardian_gone();
  void ranks_are_gone();

  void read_signals();
  void take_signal(int signal, bool by_terminal);
  void signal_ranks(int signal, bool by_terminal = false);

  void fail(const end_reason& reason);
  void complain(const std::optional<std::string>& complaint);
  void end_after_reports(const end_reason& reason);

  options options_;
  event_loop loop_;
  rank_output output_;
  launched_job launched_;
  pmi_server server_;
  other_mpi other_mpi_;
  live_ranks ranks_;
  wait_reports reports_;
  failures failures_;
  descriptor signals_;

  std::optional<int> exit_code_;
  bool is_ending_ = false;
  bool are_gone_ = false;  // no process of the job is left
  int signals_seen_ = 0;
  deadline timeout_at_;
  deadline kill_at_;
  deadline give_up_at_;  // waiting for processes outside of the job that hold its pipes
};

}  // namespace weft::run
