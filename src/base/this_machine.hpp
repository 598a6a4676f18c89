// Tells machines apart, as far as the loopback address and abstract sockets reach.
#pragma once

#include <array>

namespace weft::base {

using machine_id = std::array<unsigned char, 16>;

/// The same for processes of one boot of a kernel and one network namespace; unlike any other's, most likely.
[[nodiscard]] machine_id this_machine() noexcept;

}  // namespace weft::base
