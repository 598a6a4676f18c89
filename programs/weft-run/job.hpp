// SPDX-License-Identifier: BSD-3-Clause
// A running job: its event loop, and its ends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ask_word.hpp"
#include "weft-run/failures.hpp"
#include "weft-run/launch.hpp"
#include "weft-run/messages.hpp"
#include "weft-run/options.hpp"
#include "weft-run/other_mpi.hpp"
#include "weft-run/output.hpp"
#include "weft-run/pmi_server.hpp"
#include "weft-run/reports.hpp"

namespace weft::run {

/// As in `rank 1` or `ranks 0, 2-3`.
[[nodiscard]] std::string name_ranks(const std::vector<std::uint32_t>& ranks);

class job {
 public:
  /// Starts the ranks. **Errors** weft::error.
  job(const options& chosen, const inherited_state& inherited, const binding& bind, char** argv);

  job(const job&) = delete;
  job& operator=(const job&) = delete;

  /// Serves them until none is left. **Returns** weft-run's exit code.
  [[nodiscard]] int run();

  /// A line of weft-run's own among the output.
  void say(const std::string& text);

 private:
  using clock = std::chrono::steady_clock;

  struct stream {
    descriptor fd;
    line_gatherer lines;
    bool watched = false;
    std::size_t bytes_owed = 0;  // bytes that were in its pipe when the last rank was gone
  };
  enum class source : std::uint32_t { control, signals, sink, stream, pmi };

  static clock::time_point after(double seconds);

  // job.cpp: the loop
  void watch(int fd, std::uint32_t events, source event_source, std::uint32_t index);
  void unwatch(int fd);
  void wait_for_events(clock::time_point checked_at);
  void dispatch(source event_source, std::uint32_t index);
  [[nodiscard]] int milliseconds_to_wait(clock::time_point checked_at) const;
  void refresh_watches();
  void read_stream(std::uint32_t index);
  void watch_for_prompt(std::uint32_t index);
  void drain_rank(std::uint32_t rank);
  void flush(sink& to);
  void serve_pmi(std::uint32_t rank);
  void send_pmi_replies();
  void read_signals();
  [[nodiscard]] bool over() const;
  [[nodiscard]] bool all_output_taken() const { return streams_open_ == 0 && output_.empty() && errors_->empty(); }
  [[nodiscard]] static bool has_more_of_ranks(const stream& s);

  // job_end.cpp: the ends of a job
  void read_events();
  void rank_ended(std::uint32_t rank, int status);
  void warn_of_other_mpi(std::uint32_t rank);
  void ranks_are_gone();
  void leave_held_streams();
  void watch_stragglers();
  // job_report.cpp: the events for which ranks wait
  [[nodiscard]] bool may_answer_to_asks(std::uint32_t rank) const;
  void show_reports();
  void end_after_reports(int exit_code, const std::string& text);
  void check_reports();

  void start_failed(std::uint32_t rank, start_step step, int problem);
  void guardian_gone();
  void take_signal(int signal, bool by_terminal);
  clock::time_point check_deadlines();
  void fail(int exit_code, const std::string& text);
  void complain(const std::optional<std::string>& complaint);
  void report_first_failure();
  void signal_ranks(int signal, bool by_terminal = false);

  options options_;
  sink output_;
  sink errors_own_;
  sink* errors_;  // output_ itself, where both are one file
  launched_job launched_;
  pmi_server server_;
  other_mpi other_mpi_;
  base::ask_word asks_;
  reports reports_;
  descriptor epoll_;
  descriptor signals_;
  std::vector<stream> streams_;  // 2 r: standard output of rank r; 2 r + 1: standard error
  std::size_t streams_open_ = 0;
  std::vector<std::uint32_t> running_;    // ranks, sorted
  std::vector<std::uint32_t> succeeded_;  // ranks that have ended with 0

  failures failures_;
  std::optional<int> exit_code_;
  bool ending_ = false;
  bool all_gone_ = false;
  bool output_lost_ = false;
  bool answers_come_;  // rank 0's input is a terminal, a pipe or a socket
  int signals_seen_ = 0;
  std::optional<clock::time_point> timeout_at_;
  std::optional<clock::time_point> notice_at_;  // a rank has ended, and others may wait for it
  std::optional<clock::time_point> linger_at_;
  struct ending {
    int exit_code;
    std::string text;
  };
  std::optional<ending> end_after_reports_;      // the end of the job once its ranks have reported their waits
  std::optional<clock::time_point> reports_at_;  // the reports are shown, whether or not all ranks have written theirs
  std::optional<clock::time_point> kill_at_;
  std::optional<clock::time_point> prompt_at_;   // rank 0 has begun a line, which may be a question
  std::optional<clock::time_point> give_up_at_;  // waiting for processes outside of the job that hold its pipes
  bool sink_watched_[2] = {false, false};
};

}  // namespace weft::run
