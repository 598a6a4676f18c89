// SPDX-License-Identifier: BSD-3-Clause
// Tells machines apart, as far as the loopback address and abstract sockets reach: by trying.
#pragma once

#include <array>

#include "base/descriptor.hpp"

namespace weft::base {

/// A socket under a random name that processes of this kernel and network namespace find, and no others. Names that a
/// machine has (of its boot, its host, its namespaces) prove nothing: clones of a virtual machine share them, and
/// without /proc nobody can read them.
class machine_mark {
 public:
  using name_type = std::array<unsigned char, 16>;

  /// **Errors**: transport_failed where the system gives no socket or no random numbers.
  machine_mark();
  machine_mark(const machine_mark&) = delete;
  machine_mark& operator=(const machine_mark&) = delete;

  [[nodiscard]] const name_type& name() const noexcept { return name_; }

 private:
  name_type name_{};
  descriptor socket_;
};

/// Whether the mark of this name exists on this machine at this time. **Errors**: transport_failed where the system
/// doesn't let the caller look.
[[nodiscard]] bool is_on_this_machine(const machine_mark::name_type& name);

}  // namespace weft::base
