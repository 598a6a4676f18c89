// In a child of fork(), whose parent still has the devices, each call that needs one ends the process.
#pragma once

namespace weft::core {

/// Ends the process with the rule that a child has broken.
[[noreturn]] void refuse_to_child() noexcept;

}  // namespace weft::core
