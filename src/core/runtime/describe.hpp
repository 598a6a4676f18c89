// Words for people about objects that something waits for.
#pragma once

#include <string>

#include "weft/completion.hpp"

namespace weft::core {

/// As in `a counter of value 3, which no operation will signal`. The object lives meanwhile.
[[nodiscard]] std::string to_text(const completion& object);

}  // namespace weft::core
