// SPDX-License-Identifier: BSD-3-Clause
// What calls of progress try again until it succeeds, and what is no operation (retry_list.hpp).
#pragma once

namespace weft::core {

class device_state;

/// An entry lies in the object that waits.
class retry_entry {
 public:
  retry_entry() = default;
  retry_entry(const retry_entry&) = delete;
  retry_entry& operator=(const retry_entry&) = delete;

  /// Tries. If it has to be tried again, the entry adds itself to a list again. It may be destroyed when this returns.
  /// **Returns** whether it has moved something. **Threads**: one that is inside the gate of the list's device.
  virtual bool try_again() noexcept = 0;
  /// Another device tries it from now on, as its own is being destroyed.
  virtual void adopted_by(device_state& /*other*/) noexcept {}
  /// Whether a peer waits for it: at the end of the runtime it is tried for some time more.
  [[nodiscard]] virtual bool is_answer() const noexcept { return false; }
  /// The runtime ends, and the entry is tried no more.
  virtual void drop() noexcept {}

  retry_entry* behind = nullptr;  // next in the list

 protected:
  ~retry_entry() = default;
};

}  // namespace weft::core
