// SPDX-License-Identifier: BSD-3-Clause
// Posts whose arguments are checked first.
#pragma once

#include "core/device/device_state.hpp"
#include "core/message/payload.hpp"

namespace weft::core {

/// Implements `device::post_send`.
[[nodiscard]] status post_send_checked(device_state& dev, std::uint32_t peer, const source_payload& bytes,
                                       completion& local, const post_send_options& options);
/// Implements `device::post_recv`.
[[nodiscard]] status post_receive_checked(device_state& dev, std::uint32_t peer, const target_payload& into,
                                          completion& local, const post_recv_options& options);

}  // namespace weft::core
