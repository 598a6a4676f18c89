// SPDX-License-Identifier: BSD-3-Clause
// Messages that a probe has matched (MPI_Message).
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "mpi.h"
#include "mpi/handle/object.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/request.hpp"
#include "weft/matched_message.hpp"

namespace weft::mpi {

/// Lives from the probe to the receive.
struct message {
  message(communicator& owner, weft::matched_message&& found) noexcept : comm{owner}, matched{std::move(found)} {
    comm.add_reference();
  }
  ~message() {
    kind = object_kind::freed;
    comm.remove_reference();
  }
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  object_kind kind = object_kind::message;
  communicator& comm;
  weft::matched_message matched;
  message* before = nullptr;  // neighbours in `matched_messages`
  message* behind = nullptr;
};

/// The matched messages of a rank. **Threads**: any.
class matched_messages {
 public:
  matched_messages() = default;
  matched_messages(const matched_messages&) = delete;
  matched_messages& operator=(const matched_messages&) = delete;
  ~matched_messages() { clear(); }

  /// **Errors**: `std::bad_alloc`; then `found` keeps the message.
  message& add(communicator& comm, weft::matched_message&& found) {
    message& out = *std::make_unique<message>(comm, std::move(found)).release();
    const std::lock_guard locked{mutex_};
    out.behind = first_;
    if (first_ != nullptr) first_->before = &out;
    first_ = &out;
    return out;
  }
  /// Destroys it: a message that was not received is dropped.
  void remove(message& removed) noexcept {
    const std::unique_ptr<message> gone{&removed};
    const std::lock_guard locked{mutex_};
    (removed.before != nullptr ? removed.before->behind : first_) = removed.behind;
    if (removed.behind != nullptr) removed.behind->before = removed.before;
  }
  void clear() noexcept {
    while (first_ != nullptr) remove(*first_);
  }
  /// **Threads**: one, while no other thread adds or removes one.
  template <class Visit>
  void each(const Visit& visit) const {
    for (const message* next = first_; next != nullptr; next = next->behind) visit(*next);
  }

 private:
  std::mutex mutex_;
  message* first_ = nullptr;
};

/// The message of a handle; null if it is none.
[[nodiscard]] inline message* find_message(MPI_Message handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<message*>(handle);
  return found->kind == object_kind::message ? found : nullptr;
}
[[nodiscard]] inline MPI_Message handle_of(message& message) noexcept {
  return reinterpret_cast<MPI_Message>(&message);
}
/// The envelope of a message that has not been received.
[[nodiscard]] inline envelope envelope_of(const message& message) noexcept {
  return {message.comm.member(message.matched.source()), static_cast<int>(message.matched.tag())};
}

}  // namespace weft::mpi
