#include "kmer/count_job.hpp"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <new>
#include <thread>

#include "kmer/input_error.hpp"
#include "kmer/progress_bar.hpp"
#include "kmer/shared_job.hpp"

namespace weft_kmer {

shared_job::shared_job(exchange& all, const count_options& wanted) : link{&all}, options{&wanted} {
  try {
    check_options(wanted, all.ranks());
    for (const std::string& path : wanted.inputs) files.push_back(examine_input(path));
    ranges = plan_ranges(files, all.rank(), all.ranks());
    const unsigned pass_count = wanted.exact ? 1 : 2;
    const auto once = [&](const input_file& file) { return !wanted.exact && file.kind == file_kind::stream; };
    spooled = std::make_unique<reader>(files, ranges, wanted.k, once);
    for (unsigned pass = 0; pass < pass_count; ++pass) {
      passes.push_back(
          std::make_unique<reader>(files, ranges, wanted.k, [&](const input_file& file) { return !once(file); }));
    }
    for (const input_file& file : files) job_bytes += file.bytes * pass_count;
    for (const input_range& range : ranges) {
      range_bytes += range.end - range.begin;
      if (!wanted.exact && files[range.file].kind != file_kind::stream) {
        kmers_expected += estimate_kmers(files[range.file], range, wanted.k);
      }
    }
  } catch (const job_error& e) {
    failure = e.what();
  } catch (const std::bad_alloc&) {
    failure = "rank " + std::to_string(all.rank()) + " is out of memory";
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
