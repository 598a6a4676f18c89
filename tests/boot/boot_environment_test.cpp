// SPDX-License-Identifier: BSD-3-Clause
// stages: release asan
#include "boot/environment.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weft/error.hpp"

namespace {

using weft::errc;
using weft::base::boot_method;
using weft::boot::job_description;

job_description describe(std::vector<const char*> entries) {
  entries.push_back(nullptr);
  return weft::boot::describe_job(entries.data(), weft::base::parse_settings(entries.data()));
}

std::string refusal(errc code, std::vector<const char*> entries) {
  try {
    (void)describe(std::move(entries));
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "accepted";
}

void expect_words(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' not in: " << text;
}

TEST(boot_environment, nothing_said_means_alone) {
  EXPECT_EQ(describe({}).method, boot_method::single);
  EXPECT_EQ(describe({"PATH=/bin", "WEFT_LOG=info"}).method, boot_method::single);
}

TEST(boot_environment, a_pmi_descriptor_means_pmi1) {
  const job_description job = describe({"PMI_FD=7", "PMI_RANK=1", "PMI_SIZE=3", "MPI_LOCALNRANKS=3"});
  EXPECT_EQ(job.method, boot_method::pmi1);
  EXPECT_EQ(job.pmi_fd, 7);
  EXPECT_EQ(job.rank, 1U);
  EXPECT_EQ(job.size, 3U);
}

TEST(boot_environment, senseless_pmi_variables_are_refused) {
  expect_words(refusal(errc::boot_failed, {"PMI_FD=7"}), {"PMI_FD=7", "PMI_RANK=(unset)"});
  expect_words(refusal(errc::boot_failed, {"PMI_FD=x", "PMI_RANK=0", "PMI_SIZE=1"}), {"PMI_FD=x"});
  expect_words(refusal(errc::boot_failed, {"PMI_FD=7", "PMI_RANK=3", "PMI_SIZE=3"}), {"PMI_RANK=3"});
  expect_words(refusal(errc::boot_failed, {"WEFT_BOOT=pmi1"}), {"PMI_FD=(unset)"});
}

TEST(boot_environment, a_directory_means_the_file_boot_and_wins_over_pmi) {
  const job_description job = describe({"WEFT_BOOT_DIR=/d", "WEFT_RANK=1", "WEFT_SIZE=2", "PMI_FD=7"});
  EXPECT_EQ(job.method, boot_method::file);
  EXPECT_EQ(job.rank, 1U);
  EXPECT_EQ(job.size, 2U);
}

TEST(boot_environment, half_a_file_boot_is_refused) {
  expect_words(refusal(errc::configuration, {"WEFT_BOOT_DIR=/d", "WEFT_SIZE=2"}), {"missing: WEFT_RANK"});
  expect_words(refusal(errc::configuration, {"WEFT_BOOT=file"}), {"missing: WEFT_BOOT_DIR WEFT_RANK WEFT_SIZE"});
  expect_words(refusal(errc::configuration, {"WEFT_BOOT_DIR=/d", "WEFT_RANK=2", "WEFT_SIZE=2"}), {"WEFT_RANK=2"});
  expect_words(refusal(errc::configuration, {"WEFT_SIZE=2"}), {"WEFT_SIZE=2", "rank 0 of 1"});
  expect_words(refusal(errc::configuration, {"WEFT_BOOT=single", "WEFT_SIZE=2"}), {"WEFT_SIZE=2"});
  expect_words(refusal(errc::configuration, {"WEFT_SIZE=3", "PMI_FD=7", "PMI_RANK=0", "PMI_SIZE=2"}), {"WEFT_SIZE=3"});
}

TEST(boot_environment, a_launcher_that_promised_ranks_in_another_protocol_is_an_error_that_names_what_was_found) {
  const struct {
    std::vector<const char*> environment;
    std::vector<const char*> words;
  } cases[] = {
      {{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=0"}, {"Open MPI", "OMPI_COMM_WORLD_SIZE=4"}},
      {{"PMIX_RANK=1", "PMIX_NAMESPACE=job"}, {"PMIx", "PMIX_RANK=1", "PMIX_NAMESPACE=job"}},
      {{"SLURM_PROCID=0", "SLURM_NTASKS=2"}, {"srun", "SLURM_NTASKS=2", "--mpi=pmi2"}},
      {{"SLURM_PROCID=1", "SLURM_STEP_NUM_TASKS=2", "SLURM_NTASKS=2"}, {"SLURM_STEP_NUM_TASKS=2"}},
      {{"PMI_RANK=0", "PMI_SIZE=2"}, {"PMI_FD", "PMI_SIZE=2"}},
      {{"PMI_PORT=host:1", "PMI_ID=0"}, {"PMI_PORT=host:1"}},
      {{"FLUX_JOB_SIZE=2", "FLUX_TASK_RANK=0"}, {"Flux", "FLUX_JOB_SIZE=2"}},
      {{"MPI_LOCALNRANKS=2", "MPI_LOCALRANKID=0"}, {"MPI_LOCALNRANKS=2"}},
      {{"PALS_RANKID=1"}, {"PALS_RANKID=1"}},
      {{"MV2_COMM_WORLD_SIZE=2"}, {"MV2_COMM_WORLD_SIZE=2"}},
      {{"WEFT_LAUNCHER_PID=42"}, {"weft-run", "WEFT_LAUNCHER_PID=42"}},
  };
  for (const auto& c : cases) {
    const std::string text = refusal(errc::boot_failed, c.environment);
    for (const char* word : c.words) expect_words(text, {word});
    expect_words(text, {"WEFT_BOOT=single"});
    auto on_purpose = c.environment;
    on_purpose.push_back("WEFT_BOOT=single");
    EXPECT_EQ(describe(on_purpose).method, boot_method::single);
  }
}

TEST(boot_environment, a_launcher_that_promised_one_rank_has_kept_its_word) {
  EXPECT_EQ(describe({"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=1", "PMIX_RANK=0"}).method, boot_method::single);
  EXPECT_EQ(describe({"SLURM_PROCID=0", "SLURM_NTASKS=1"}).method, boot_method::single);
  EXPECT_EQ(describe({"SLURM_PROCID=0", "SLURM_STEP_NUM_TASKS=1", "SLURM_NTASKS=4"}).method, boot_method::single);
  EXPECT_EQ(describe({"PMI_RANK=0", "PMI_SIZE=1"}).method, boot_method::single);
}

TEST(boot_environment, an_allocation_without_a_task_of_its_own_promises_nothing) {
  EXPECT_EQ(describe({"SLURM_JOB_ID=5", "SLURM_NTASKS=4"}).method, boot_method::single);
}

}  // namespace
