#pragma once

#include <thread>
#include <utility>

namespace weft::base {

/// In a child of fork(), of a thread that only its parent has: it can neither be joined nor detached here, so its
/// description stays.
inline void leave_to_parent(std::thread& its) { static_cast<void>(new std::thread{std::move(its)}); }

}  // namespace weft::base
