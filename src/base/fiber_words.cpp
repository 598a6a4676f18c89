// SPDX-License-Identifier: BSD-3-Clause
// A source of its own, so that a program may have the errors of this room without its fibers.
#include "weft/detail/fiber_words.hpp"

namespace weft::detail {

// A variable of the fiber.
[[gnu::tls_model("initial-exec")]] constinit thread_local fiber_words words_of_fiber;

}  // namespace weft::detail
