// Whether the calling thread runs nodes of a graph, where it may not wait: other nodes wait for their end.
#pragma once

namespace weft::core {

[[nodiscard]] inline bool& is_inside_node() noexcept {
  static thread_local constinit bool inside = false;
  return inside;
}

}  // namespace weft::core
