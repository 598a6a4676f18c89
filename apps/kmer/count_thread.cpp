// SPDX-License-Identifier: BSD-3-Clause
// The work of one thread, from the first read to the last line of output. All threads of all ranks go through these
// steps; if one of them fails, all agree on that at the next step, so that all end together.
#include <sys/resource.h>

#include <chrono>
#include <new>
#include <optional>

#include "kmer/counts_writer.hpp"
#include "kmer/histogram.hpp"
#include "kmer/input_error.hpp"
#include "kmer/kmer_partition.hpp"
#include "kmer/kmer_sender.hpp"
#include "kmer/output_file.hpp"
#include "kmer/shared_job.hpp"
#include "kmer/spool.hpp"

namespace weft_kmer {

namespace {

std::uint64_t memory_peak() noexcept {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

template <typename Word>
class count_thread {
 public:
  count_thread(shared_job& job, unsigned thread)
      : job_{&job},
        options_{job.options},
        thread_{thread},
        link_{&job.link->at(thread)},
        cursor_{thread},
        sender_{options_->k, !options_->strand, *link_, take_own{this}} {
    link_->receive_with([this](auto message) { take(message); });
  }

  [[nodiscard]] bool run() {
    if (thread_ == 0 && !job_->failure.empty()) fail(job_->failure);
    attempt([this] { open_outputs(); });
    if (!agreed() || !outputs_found()) return false;
    if (options_->exact) {
      partition_.begin_count_all();
      if (!agreed()) return false;
      read_pass(*job_->passes[0], true);
    } else {
      if (!make_spool() || !size_filters()) return false;
      read_pass(*job_->passes[0], true);
      attempt([this] { partition_.begin_count_again(); });
      if (!agreed()) return false;
      read_pass(*job_->passes[1], false);
    }
    if (!agreed()) return false;
    tally();
    attempt([this] { write_outputs(); });
    if (!agreed()) return false;
    attempt([this] { commit_outputs(); });
    return agreed(true);
  }

 private:
  struct take_own {
    count_thread* self;
    void operator()(std::span<const std::byte> message) const { self->take(message); }
  };

  void fail(std::string problem) {
    if (failure_.empty()) failure_ = std::move(problem);
    link_->request_stop();
  }

  template <typename Do>
  void attempt(Do&& act) {
    try {
      act();
    } catch (const std::bad_alloc&) {
      fail("rank " + std::to_string(job_->link->rank()) + " is out of memory");
    } catch (const job_error& e) {
      fail(e.what());
    }
  }

  // Serves: k-mers that this thread owns. Once the job has failed they are dropped, but still taken.
  void take(std::span<const std::byte> message) noexcept {
    if (!failure_.empty()) return;
    try {
      partition_.receive(message);
    } catch (const std::bad_alloc&) {
      // Not from in here: telling the others means sending, which serves again.
      failure_ = "rank " + std::to_string(job_->link->rank()) + " is out of memory";
    }
  }

  // Whether all is well everywhere. The last time, everybody hands in a report.
  bool agreed(bool last = false) {
    const agreement all = link_->agree({.values = last ? report() : std::vector<std::uint64_t>{}, .failure = failure_});
    for (const statement& s : all.statements) {
      if (!s.failure.empty() && job_->failure_agreed.empty()) job_->failure_agreed = s.failure;
      if (last) add_report(s.values);
    }
    return !all.failed;
  }

  // Every thread parses chunks of this rank's share, sends their k-mers to their owners, and serves its own partition.
  void read_pass(reader& input, bool first) {
    attempt([&] {
      read_all(input, sender_, first);
      if (spool_) {
        spool_->rewind();
        while (!job_->link->stop_requested() && spool_->replay(sender_)) (void)link_->serve();
      }
      sender_.flush();
    });
    if (first) report_input();
    bytes_before_ += job_->range_bytes;
    link_->finish_pass();
  }

  void report_input() {
    report_.kmers = sender_.kmers();
    letter_tally letters = sender_.letters();
    if (spool_) letters.add(spool_->letters());
    report_.strange_letters = letters.strange();
    report_.strange_letter = static_cast<unsigned char>(letters.first_strange());
  }

  template <typename Visitor>
  void read_all(reader& input, Visitor& visit, bool first) {
    text_chunk chunk;
    while (!job_->link->stop_requested()) {
      const auto [answer, source] = input.next(cursor_, chunk);
      if (answer == chunk_answer::end) break;
      if (answer == chunk_answer::busy) {
        link_->serve_or_rest();
        continue;
      }
      try {
        const std::uint64_t records = parse(chunk.piece(), options_->k, visit);
        if (first) report_.reads += records;
      } catch (const record_error& e) {
        throw job_error{source->explain(chunk, e)};
      }
      (void)link_->serve();
      if (!failure_.empty()) link_->request_stop();  // there was no memory for arrived k-mers
      show_progress(input);
    }
  }

  void show_progress(const reader& input) {
    if (thread_ != 0) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds{200}) return;
    shown_ = now;
    link_->report_progress(bytes_before_ + input.bytes_consumed());
  }

  // Streams are read now and kept, as the passes need them twice.
  bool make_spool() {
    attempt([this] {
      spool_.emplace(options_->k);
      read_all(*job_->spooled, *spool_, true);
      spool_->finish();
    });
    return agreed();
  }

  // All k-mers might be different; owners get about equally many of them.
  bool size_filters() {
    const std::uint64_t mine = spool_->kmers() + (thread_ == 0 ? job_->kmers_expected : 0);
    const std::uint64_t expected = link_->agree({.values = {mine}, .failure = {}}).sums[0];
    attempt([&] { partition_.begin_filter(expected / link_->participants() * 11 / 10 + 1000); });
    return agreed();
  }

  void tally() {
    partition_.for_each_counted([this](Word, std::uint64_t count) {
      histogram_.add(count);
      ++report_.distinct;
      report_.occurrences += count;
      report_.seen_once += count == 1;
    });
  }

  void open_outputs() {
    if (link_->self() != 0) return;
    if (!options_->counts_path.empty()) counts_file_.emplace(options_->counts_path);
    if (!options_->histogram_path.empty()) histogram_file_.emplace(options_->histogram_path);
  }

  // Every rank writes its part of the counts: better now than after the last k-mer.
  bool outputs_found() {
    if (options_->counts_path.empty()) return true;
    const std::uint64_t suffix = link_->agree({.values = {own_suffix()}, .failure = {}}).sums[0];
    if (thread_ == 0 && link_->self() != 0) {
      attempt([&] {
        try {
          check_output_part(options_->counts_path, suffix);
        } catch (const job_error& e) {
          throw job_error{job_->on_this_rank(e.what())};
        }
      });
    }
    return agreed();
  }

  // Of the file of counts: its maker says it to all others.
  [[nodiscard]] std::uint64_t own_suffix() const { return counts_file_ ? counts_file_->suffix() : 0; }

  void write_outputs() {
    if (!options_->histogram_path.empty()) {
      sum_tallies(*link_, histogram_);
      if (histogram_file_) attempt([this] { histogram_file_->write(histogram_.to_text(options_->count_min)); });
    }
    if (!options_->counts_path.empty()) {
      write_counts(partition_, *options_, *link_, own_suffix(), [this](auto&& part) { this->attempt(part); });
    }
  }

  void commit_outputs() {
    if (counts_file_) counts_file_->commit();
    if (histogram_file_) histogram_file_->commit();
  }

  [[nodiscard]] std::vector<std::uint64_t> report() const {
    const auto time = std::chrono::steady_clock::now() - job_->started;
    return {report_.reads,           report_.kmers,
            report_.distinct,        report_.occurrences,
            report_.seen_once,       partition_.served(),
            link_->messages_sent(),  link_->bytes_sent(),
            memory_peak(),           static_cast<std::uint64_t>(std::chrono::nanoseconds{time}.count()),
            report_.strange_letters, report_.strange_letter};
  }

  void add_report(const std::vector<std::uint64_t>& v) {
    if (v.size() < 12) return;
    job_->report.threads.push_back({v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11]});
    job_->report.threads_per_rank = job_->link->threads();
  }

  shared_job* job_;
  const count_options* options_;
  unsigned thread_;
  endpoint* link_;
  reader::cursor cursor_;
  kmer_partition<Word> partition_;
  kmer_sender<Word, take_own> sender_;
  std::optional<spool> spool_;
  histogram histogram_;
  std::optional<output_file> counts_file_;  // at participant 0, which makes the files for all
  std::optional<output_file> histogram_file_;
  std::string failure_;
  thread_report report_;
  std::uint64_t bytes_before_ = 0;  // that this rank read in earlier passes
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace

template <typename Word>
bool count_with(shared_job& job, unsigned thread) {
  return count_thread<Word>{job, thread}.run();
}

template bool count_with<narrow>(shared_job&, unsigned);
template bool count_with<wide>(shared_job&, unsigned);

}  // namespace weft_kmer
