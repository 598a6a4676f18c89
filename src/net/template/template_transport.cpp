// SPDX-License-Identifier: BSD-3-Clause
#include "net/template/template_transport.hpp"

namespace weft::net {

template_transport::template_transport(const transport_context& context) noexcept : rank_{context.boot.rank()} {}

}  // namespace weft::net
