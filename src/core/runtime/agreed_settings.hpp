// Settings that all ranks of a job must give alike, compared when a runtime starts.
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"

namespace weft::core {

/// The settings of scope `job` as a rank publishes them: a line `NAME=value` for each.
[[nodiscard]] std::string published_settings(const base::settings& of);

/// Which of them differ, with ranks and values, for people; "" if none does. `published`: of each rank. The bytes may
/// be any: values are shown up to a length, and unprintable characters as `?`.
[[nodiscard]] std::string differences(const std::vector<std::string>& published);

}  // namespace weft::core
