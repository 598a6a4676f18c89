// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <unistd.h>

#include <exception>

#include "base/config.hpp"
#include "base/copies.hpp"
#include "base/log.hpp"
#include "boot/backends.hpp"
#include "boot/environment.hpp"
#include "weft/detail/copy_mark.hpp"
#include "weft/error.hpp"

namespace weft::boot {
namespace {

std::shared_ptr<bootstrap> make_process_bootstrap() {
  const base::settings& settings = base::process_settings();
  const job_description job = describe_job(::environ, settings);
  const std::chrono::seconds timeout{settings.boot_timeout_s};
  base::set_log_identity(job.rank, job.size);
  base::warn_of_copies();
  if (job.rank == 0 && !settings.launcher_pid) base::warn_of_foreign_variables(settings);  // or weft-run has done so
  base::log_debug("boot: rank {} of {}", job.rank, job.size);
  switch (job.method) {
    case base::boot_method::pmi1: return make_pmi1({job.pmi_fd, job.rank, job.size, timeout});
    case base::boot_method::file: return make_file({settings.boot_dir, job.rank, job.size, timeout, settings.boot_key});
    case base::boot_method::automatic:
    case base::boot_method::single: break;
  }
  return make_single();
}

// What a child of fork() gets that makes a runtime after its parent has made one.
std::shared_ptr<bootstrap> of_child(const bootstrap* parents) {
  if (parents == nullptr || parents->size() == 1) return make_single();
  throw error{errc::boot_failed,
              fmt::format("boot: a child of fork() makes a runtime, and its parent is rank {} of {}: the job has no "
                          "other place; let the child call exec, with WEFT_BOOT=single if it is to run alone",
                          parents->rank(), parents->size())};
}

}  // namespace

std::shared_ptr<bootstrap> process_bootstrap() {
  // Once a process, for better or worse: launchers allow one introduction. Leaving happens with the last static.
  struct outcome {
    std::shared_ptr<bootstrap> made;
    std::exception_ptr problem;
  };
  static const outcome once = []() noexcept -> outcome {
    try {
      return {make_process_bootstrap(), nullptr};
    } catch (...) {
      return {nullptr, std::current_exception()};
    }
  }();
  static const detail::copy_mark mark;
  if (mark.is_copy()) return of_child(once.made.get());
  if (once.problem) std::rethrow_exception(once.problem);
  return once.made;
}

}  // namespace weft::boot
