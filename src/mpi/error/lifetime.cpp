// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/error/lifetime.hpp"

namespace weft::mpi {

void lifetime::end(error_owner& owner) noexcept { registry_->end(owner); }

}  // namespace weft::mpi
