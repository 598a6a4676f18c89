// Messages that a probe has matched (MPI_Message).
#pragma once

#include <utility>

#include "mpi.h"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/object.hpp"
#include "weft/matched_message.hpp"

namespace weft::mpi {

/// Lives from the probe to the receive.
struct message {
  message(communicator& in, weft::matched_message&& found) noexcept : of{in}, matched{std::move(found)} {
    of.add_reference();
  }
  ~message() {
    kind = object_kind::freed;
    of.remove_reference();
  }
  message(const message&) = delete;
  message& operator=(const message&) = delete;

  object_kind kind = object_kind::message;
  communicator& of;
  weft::matched_message matched;
};

/// The message of a handle; null if it is none.
[[nodiscard]] inline message* find_message(MPI_Message handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<message*>(handle);
  return found->kind == object_kind::message ? found : nullptr;
}
[[nodiscard]] inline MPI_Message handle_of(message& one) noexcept { return reinterpret_cast<MPI_Message>(&one); }

}  // namespace weft::mpi
