// SPDX-License-Identifier: BSD-3-Clause
// A flush or barrier that a post has begun: calls of progress on its device continue it, and signal a completion object
// when it is complete.
//
// Cost: an allocation by its post, and a look in each call of progress on its device until then. Threads that wait on
// that device sleep shortly meanwhile.
#pragma once

#include <cstdint>
#include <memory>

#include "core/device/device_state.hpp"
#include "core/device/retry_entry.hpp"
#include "weft/completion.hpp"
#include "weft/status.hpp"

namespace weft::core {

class posted_wait : public retry_entry {
 public:
  virtual ~posted_wait() = default;

  /// Begins `wait`, whose record has `context`. **Returns**: done if it is complete and `allow_done`; else posted.
  /// **Errors**: those with which it ends in this call, and invalid_argument for an object of another runtime.
  [[nodiscard]] static status post(device_state& dev, completion& local, void* context, bool allow_done,
                                   std::unique_ptr<posted_wait> wait);

 protected:
  /// `opcode`, and `peer` at the end, are in the record.
  explicit posted_wait(operation opcode) noexcept : opcode_{opcode} {}

  /// Does what can be done without waiting. **Returns** whether it is complete. **Errors**: those with which it ends.
  [[nodiscard]] virtual bool go_on(device_state& dev) = 0;
  [[nodiscard]] virtual std::uint32_t peer() const noexcept = 0;
  /// The runtime ends: objects that `go_on` uses may have been destroyed.
  virtual void forget() noexcept {}

 private:
  bool try_again() noexcept final;
  void adopted_by(device_state& other) noexcept final { device_ = &other; }
  void drop() noexcept final {
    forget();
    delete this;
  }
  void try_to_end() noexcept;

  operation opcode_;
  bool is_over_ = false;
  errc error_ = errc::none;
  device_state* device_ = nullptr;
  completion* local_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace weft::core
