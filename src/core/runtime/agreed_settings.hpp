// SPDX-License-Identifier: BSD-3-Clause
// Settings that all ranks of a job must give alike, compared when a runtime starts.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"

namespace weft::core {

/// The settings of scope `job` as a rank publishes them: a line `NAME=value` for each, and one with the processors that
/// the calling thread may run on.
[[nodiscard]] std::string published_settings(const base::settings& settings);

/// Whether ranks are more than the processors that they may run on: some machine has a set of processors that more
/// ranks may run on, each on no others. `published`: of each rank.
[[nodiscard]] bool are_beyond_processors(const std::vector<std::string>& published);

/// Which of them differ, with ranks and values, for people; "" if none does. `published`: of each rank. The bytes may
/// be any: values are shown up to a length, and unprintable characters as `?`.
[[nodiscard]] std::string differences(const std::vector<std::string>& published);

}  // namespace weft::core
