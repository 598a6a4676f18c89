#include "weft/suspender.hpp"

#include <utility>

#include "base/this_suspender.hpp"

namespace weft {

suspender* use_suspender(suspender* how) noexcept { return std::exchange(base::this_suspender(), how); }

}  // namespace weft
