// SPDX-License-Identifier: BSD-3-Clause
// The receive that leaves the tag open, in an engine that is named by its object.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "weft/device.hpp"

namespace weft::core::fast {

/// Posts it into one buffer of this process; it may answer *retry*. `from`: the rank, or `any_rank`, and the policy
/// that the caller has named. **Errors**: those of `device::post_recv`.
[[nodiscard]] status post_with_any_tag(device_state& dev, detail::message_source from, detail::ordinary_buffer buffer,
                                       completion& local, std::uint64_t tag, void* context, engine_state& engine);

}  // namespace weft::core::fast
