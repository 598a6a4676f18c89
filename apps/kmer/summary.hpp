// SPDX-License-Identifier: BSD-3-Clause
// What the user reads in the end.
#pragma once

#include <string>

#include "kmer/count_job.hpp"

namespace weft_kmer {

[[nodiscard]] std::string summary_of(const job_report& report, const count_options& options);
/// Lines for standard error on an input that may not be what it should be; empty: nothing to say.
[[nodiscard]] std::string warnings_of(const job_report& report, const count_options& options);

}  // namespace weft_kmer
