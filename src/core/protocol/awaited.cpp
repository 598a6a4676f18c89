#include "core/protocol/awaited.hpp"

#include "base/assertion.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core::awaited {

void add_to(device_state& dev, std::uint32_t peer) noexcept {
  WEFT_ASSERT_CHECKED(peer < dev.rank_count());
  dev.runtime().peers().await(peer);
}

void take_from(device_state& dev, std::uint32_t peer) noexcept {
  WEFT_ASSERT_CHECKED(peer < dev.rank_count());
  if (dev.runtime().peers().forget(peer)) dev.runtime().own().wake_flushes();
}

}  // namespace weft::core::awaited
