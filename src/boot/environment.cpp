// SPDX-License-Identifier: BSD-3-Clause
#include "boot/environment.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/error.hpp"

namespace weft::boot {
namespace {

using base::boot_method;

class variables {
 public:
  explicit variables(const char* const* environment) : environment_{environment} {}

  std::optional<std::string_view> find(std::string_view name) const {
    if (name.empty()) return std::nullopt;
    for (const char* const* entry = environment_; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string_view text{*entry};
      if (text.size() > name.size() && text[name.size()] == '=' && text.starts_with(name)) {
        return text.substr(name.size() + 1);
      }
    }
    return std::nullopt;
  }

  // An ill-formed number of a stranger's reads as absent.
  std::optional<std::uint32_t> find_number(std::string_view name) const {
    const auto text = find(name);
    if (!text) return std::nullopt;
    std::uint32_t value = 0;
    const auto [end, problem] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (problem != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return value;
  }

 private:
  const char* const* environment_;
};

// What a launcher leaves in its children's environment. Where the number of ranks is there and is 1, being alone is
// right; elsewhere the presence of any of the marks is a promise that can't be kept.
struct launcher {
  std::string_view name;
  std::array<std::string_view, 3> marks;
  std::array<std::string_view, 3> sizes;  // the first that is set counts
  std::string_view advice;
};

constexpr std::string_view start_with_weft_run =
    "start the program with weft-run (this machine) or mpiexec.hydra instead";

constexpr std::array launchers{
    launcher{"Open MPI or PRRTE",
             {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PRTE_LAUNCHED"},
             {"OMPI_COMM_WORLD_SIZE"},
             start_with_weft_run},
    launcher{"Slurm's srun without PMI-1",
             {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
             {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
             "start the program with srun --mpi=pmi2, or with mpiexec.hydra"},
    launcher{"a PMIx server",
             {"PMIX_RANK", "PMIX_NAMESPACE", "PMIX_SERVER_URI"},
             {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
             start_with_weft_run},
    launcher{"a PMI server that is reached by a port",
             {"PMI_PORT", "PMI_ID"},
             {"PMI_SIZE"},
             "start the program with mpiexec.hydra without -pmi-port"},
    launcher{"a PMI launcher whose connection (PMI_FD) is missing",
             {"PMI_RANK", "PMI_SIZE"},
             {"PMI_SIZE"},
             "let the launcher start the program itself, with its environment whole"},
    launcher{"Flux", {"FLUX_JOB_SIZE", "FLUX_TASK_RANK"}, {"FLUX_JOB_SIZE"}, start_with_weft_run},
    launcher{"Cray PALS", {"PALS_RANKID", "PALS_SIZE"}, {"PALS_SIZE"}, start_with_weft_run},
    launcher{"MVAPICH2's mpirun_rsh", {"MV2_COMM_WORLD_SIZE"}, {"MV2_COMM_WORLD_SIZE"}, start_with_weft_run},
    launcher{"IBM JSM", {"JSM_NAMESPACE_SIZE"}, {"JSM_NAMESPACE_SIZE"}, start_with_weft_run},
    // weft-run sets MPI_LOCALNRANKS, too.
    launcher{"weft-run, whose PMI variables are missing",
             {"WEFT_LAUNCHER_PID"},
             {},
             "let weft-run start the program itself, with its environment whole"},
    launcher{"an MPICH launcher whose PMI variables are missing",
             {"MPI_LOCALNRANKS"},
             {"MPI_LOCALNRANKS"},
             "let mpiexec.hydra start the program itself, with its environment whole"},
};

std::string found_in(const launcher& candidate, const variables& environment) {
  std::string found;
  const auto add = [&](std::string_view name) {
    const auto value = environment.find(name);
    if (!value || found.find(fmt::format("{}=", name)) != found.npos) return;
    found += fmt::format("{}{}={}", found.empty() ? "" : " ", name, value->substr(0, 80));
  };
  for (const std::string_view name : candidate.marks) add(name);
  for (const std::string_view name : candidate.sizes) add(name);
  return found;
}

std::optional<std::uint32_t> promised_size(const launcher& candidate, const variables& environment) {
  for (const std::string_view name : candidate.sizes) {
    if (const auto size = environment.find_number(name)) return size;
  }
  return std::nullopt;
}

void refuse_broken_promises(const variables& environment) {
  for (const launcher& candidate : launchers) {
    bool marked = false;
    for (const std::string_view name : candidate.marks) marked = marked || environment.find(name).has_value();
    if (!marked) continue;
    const auto size = promised_size(candidate, environment);
    if (size == 1U) return;  // its only rank is alone by right
    const std::string ranks = size ? fmt::format("{} ranks", *size) : std::string{"ranks"};
    throw error{
        errc::boot_failed,
        fmt::format("started by {} ({}), which promises {}, but speaks no protocol that Weft supports (PMI-1 over "
                    "PMI_FD): {}; to run this process alone on purpose, set WEFT_BOOT=single",
                    candidate.name, found_in(candidate, environment), ranks, candidate.advice)};
  }
}

job_description describe_pmi1(const variables& environment) {
  job_description job{boot_method::pmi1, 0, 1, -1};
  const auto fd = environment.find_number("PMI_FD");
  const auto rank = environment.find_number("PMI_RANK");
  const auto size = environment.find_number("PMI_SIZE");
  const auto text = [&](std::string_view name) { return environment.find(name).value_or("(unset)"); };
  if (!fd || *fd > (1U << 30) || !rank || !size || *rank >= *size) {
    throw error{
        errc::boot_failed,
        fmt::format("pmi1: the launcher's variables make no sense: PMI_FD={} PMI_RANK={} PMI_SIZE={}; start the "
                    "program with weft-run or mpiexec.hydra",
                    text("PMI_FD"), text("PMI_RANK"), text("PMI_SIZE"))};
  }
  job.pmi_fd = static_cast<int>(*fd);
  job.rank = *rank;
  job.size = *size;
  return job;
}

job_description describe_file(const base::settings& settings) {
  std::string missing;
  if (settings.boot_dir.empty()) missing += " WEFT_BOOT_DIR";
  if (!settings.rank) missing += " WEFT_RANK";
  if (!settings.size) missing += " WEFT_SIZE";
  if (!missing.empty()) {
    throw error{errc::configuration,
                fmt::format("the file boot needs WEFT_BOOT_DIR, WEFT_RANK and WEFT_SIZE; missing:{}", missing)};
  }
  if (*settings.rank >= *settings.size) {
    throw error{errc::configuration,
                fmt::format("WEFT_RANK={} is not below WEFT_SIZE={}", *settings.rank, *settings.size)};
  }
  return {boot_method::file, *settings.rank, *settings.size, -1};
}

job_description choose(const variables& environment, const base::settings& settings) {
  switch (settings.boot) {
    case boot_method::single: return {};
    case boot_method::file: return describe_file(settings);
    case boot_method::pmi1: return describe_pmi1(environment);
    case boot_method::automatic: break;
  }
  if (!settings.boot_dir.empty()) return describe_file(settings);
  if (environment.find("PMI_FD")) return describe_pmi1(environment);
  refuse_broken_promises(environment);
  return {};
}

}  // namespace

job_description describe_job(const char* const* environment, const base::settings& settings) {
  const job_description job = choose(variables{environment}, settings);
  if (settings.size.value_or(job.size) != job.size || settings.rank.value_or(job.rank) != job.rank) {
    throw error{errc::configuration,
                fmt::format("the environment says WEFT_RANK={} WEFT_SIZE={}, but this process is rank {} of {} by its "
                            "launcher or alone; these two belong to the file boot and go with WEFT_BOOT_DIR",
                            settings.rank ? fmt::format("{}", *settings.rank) : "(unset)",
                            settings.size ? fmt::format("{}", *settings.size) : "(unset)", job.rank, job.size)};
  }
  return job;
}

}  // namespace weft::boot
