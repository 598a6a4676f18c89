// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/count_job.hpp"

#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <new>
#include <thread>

#include "kmer/input_error.hpp"
#include "kmer/job_view.hpp"
#include "kmer/output_target.hpp"
#include "kmer/progress_bar.hpp"
#include "kmer/shared_job.hpp"

namespace weft_kmer {

shared_job::shared_job(exchange& all, const count_options& wanted) : link{&all}, options{&wanted} {
  attempt([this] { examine_inputs(); });
  if (all.ranks() > 1) compare_with_rank_0();
  if (failure.empty()) attempt([this] { make_readers(); });
}

std::string shared_job::on_this_rank(const std::string& problem) const {
  std::error_code unknown;
  const std::filesystem::path folder = std::filesystem::current_path(unknown);
  return "rank " + std::to_string(link->rank()) + ", in " + folder.string() + ": " + problem;
}

void shared_job::attempt(const std::function<void()>& act) {
  try {
    act();
  } catch (const job_error& e) {
    failure = e.what();
  } catch (const std::bad_alloc&) {
    failure = "rank " + std::to_string(link->rank()) + " is out of memory";
  }
}

void shared_job::examine_inputs() {
  check_options(*options, link->ranks());
  std::vector<input_file> found;
  for (const std::string& path : options->inputs) found.push_back(examine_input(path));
  check_streams(found);
  check_outputs(*options, found, link->rank());
  files = std::move(found);
}

// Whatever has happened here: rank 0 says what it sees, all others listen.
void shared_job::compare_with_rank_0() {
  job_view mine;
  attempt([&] { mine = view_of(*options, files); });
  const std::vector<std::string> said = link->gather(link->rank() == 0 ? to_text(mine) : std::string{});
  if (link->rank() == 0) return;
  const job_view first = view_in(said[0]);
  const std::string difference = difference_from(first, mine, link->rank(), options->inputs);
  if (!difference.empty()) {
    failure = difference;
  } else if (!failure.empty() && first.files) {
    failure = on_this_rank(failure);
  }
}

void shared_job::make_readers() {
  ranges = plan_ranges(files, link->rank(), link->ranks());
  const unsigned pass_count = options->exact ? 1 : 2;
  const auto once = [&](const input_file& file) { return !options->exact && file.kind == file_kind::stream; };
  spooled = std::make_unique<reader>(files, ranges, options->k, once);
  for (unsigned pass = 0; pass < pass_count; ++pass) {
    passes.push_back(
        std::make_unique<reader>(files, ranges, options->k, [&](const input_file& file) { return !once(file); }));
  }
  for (const input_file& file : files) job_bytes += file.bytes * pass_count;
  for (const input_range& range : ranges) {
    range_bytes += range.end - range.begin;
    if (!options->exact && files[range.file].kind != file_kind::stream) {
      kmers_expected += estimate_kmers(files[range.file], range, options->k);
    }
  }
}

std::optional<job_report> run_count_job(exchange& link, const count_options& options) {
  shared_job job{link, options};
  std::mutex mutex;
  std::condition_variable changed;
  unsigned running = link.threads();
  bool all_well = true;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < link.threads(); ++i) {
    threads.emplace_back([&, i] {
      const bool ok = options.k <= 32 ? count_with<narrow>(job, i) : count_with<wide>(job, i);
      const std::lock_guard lock{mutex};
      all_well = all_well && ok;
      if (--running == 0) changed.notify_one();
    });
  }
  if (link.rank() == 0 && options.show_progress && progress_bar::is_wanted()) {
    progress_bar bar{job.job_bytes};
    std::unique_lock lock{mutex};
    while (!changed.wait_for(lock, std::chrono::milliseconds{200}, [&] { return running == 0; })) {
      bar.show(link.progress());
    }
  }
  for (std::thread& thread : threads) thread.join();
  if (!job.failure_agreed.empty()) std::fprintf(stderr, "weft-kmer: %s\n", job.failure_agreed.c_str());
  if (!all_well) return std::nullopt;
  return std::move(job.report);
}

}  // namespace weft_kmer
