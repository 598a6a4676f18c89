// SPDX-License-Identifier: BSD-3-Clause
// Active messages: their post, and the arrival of one whose payload comes with it.
#pragma once

#include <cstdint>

#include "core/device/device_state.hpp"
#include "core/message/payload.hpp"

namespace weft::core::active_message {

/// Posts an active message of any size. **Errors**: also invalid_argument for an object of another runtime.
[[nodiscard]] status post_active_message(device_state& dev, std::uint32_t peer, std::uint32_t id,
                                         const source_payload& bytes, completion& local,
                                         const post_am_options& options);
[[nodiscard]] bool on_active_message(device_state& dev, const net::arrival& message) noexcept;

}  // namespace weft::core::active_message
