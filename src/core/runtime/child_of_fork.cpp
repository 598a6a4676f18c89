// SPDX-License-Identifier: BSD-3-Clause
// A device in a child of fork() does nothing any more. Its rings, connections and messages belong to the parent.
#include "base/misuse.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

namespace weft::core {

namespace {

// The endpoint of a device in the child: it refuses posts.
class parents_endpoint final : public device_state::endpoint {
  net::post_result try_send_inline(std::uint32_t /*peer*/, std::uint32_t /*device*/, const net::header& /*header*/,
                                   const void* /*payload*/, std::uint32_t /*bytes*/) noexcept override {
    base::refuse_to_child("a device");
  }
  net::post_result try_send(std::uint32_t /*peer*/, std::uint32_t /*device*/, const net::header& /*header*/,
                            std::uint32_t /*packet*/, std::uint32_t /*bytes*/) noexcept override {
    base::refuse_to_child("a device");
  }
  unsigned poll(message_sink& /*sink*/, unsigned /*budget*/) noexcept override { base::refuse_to_child("a device"); }
  [[nodiscard]] bool has_arrivals_from(std::uint32_t /*peer*/) const noexcept override { return false; }
  [[nodiscard]] bool holds_unread() const noexcept override { return false; }
  net::copy_result read_remote(std::uint32_t /*peer*/, net::memory_pieces /*here*/,
                               net::memory_pieces /*there*/) noexcept override {
    base::refuse_to_child("a device");
  }
  net::copy_result write_remote(std::uint32_t /*peer*/, net::memory_pieces /*here*/,
                                net::memory_pieces /*there*/) noexcept override {
    base::refuse_to_child("a device");
  }
  [[nodiscard]] const net::route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }
  void adopt(std::uint32_t /*slot*/) noexcept override {}
  void release(std::uint32_t /*slot*/) noexcept override {}
};

parents_endpoint of_the_parent;

}  // namespace

void device_state::inheritance::become_copy() noexcept {
  device_->gate_.close_for_ever();
  device_->own_receives_.close_for_ever();
  device_->runtime_->operations().receives().use_up();  // so that the path of common receives needs no check
  device_->routes_.become_copy(of_the_parent);
}

}  // namespace weft::core
