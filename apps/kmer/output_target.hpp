// SPDX-License-Identifier: BSD-3-Clause
// Where an output goes: what its name means once links have been followed.
#pragma once

#include <string>
#include <vector>

#include "kmer/input_file.hpp"
#include "kmer/options.hpp"

namespace weft_kmer {

struct output_target {
  std::string path;        ///< of the file that the name leads to, which need not be there
  bool is_direct = false;  ///< a pipe, a device, or an open file: written to as it is
  int descriptor = -1;     ///< of this process, where the name means one, as /dev/stdout does; -1: none
};

/// Errors: job_error where the name leads nowhere.
[[nodiscard]] output_target find_output_target(const std::string& path);

/// Checks, before anything is opened for writing, that no output is an input or the other output. All ranks write
/// counts; rank 0 alone writes the histogram, whose folder others need not see. Errors: job_error.
void check_outputs(const count_options& options, const std::vector<input_file>& inputs, unsigned rank);

}  // namespace weft_kmer
