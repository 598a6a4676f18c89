// SPDX-License-Identifier: BSD-3-Clause
// A transport to copy: one device's part. It refuses every post, and nothing arrives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "net/template/template_transport.hpp"

namespace weft::net {

template <class Sink>
class template_endpoint final : public endpoint<Sink> {
 public:
  template_endpoint(template_transport& owner, std::uint32_t slot) noexcept : owner_{&owner}, slot_{slot} {}

  /// Copies the bytes before it answers ok. Several threads may post, if the endpoint is shared: the one that finds
  /// another at work answers `busy`, and never waits for it.
  post_result try_send_inline(std::uint32_t /*peer*/, std::uint32_t /*device*/, const net::header& /*header*/,
                              const void* /*payload*/, std::uint32_t /*bytes*/) noexcept override {
    return post_result::full;
  }

  /// The packet is the transport's after *ok*, which puts it back once; after another answer it is the caller's.
  post_result try_send(std::uint32_t /*peer*/, std::uint32_t /*device*/, const net::header& /*header*/,
                       std::uint32_t /*packet*/, std::uint32_t /*bytes*/) noexcept override {
    return post_result::full;
  }

  /// Delivers each message that has arrived: check every number that the peer wrote, on a copy; drop and count what is
  /// impossible; fill an `arrival` and call `sink.on_message`. After false, keep the message and all that the same
  /// device of that peer has sent after it for a later poll.
  unsigned poll(Sink& /*sink*/, unsigned /*budget*/) noexcept override { return 0; }

  [[nodiscard]] bool has_arrivals_from(std::uint32_t /*peer*/) const noexcept override { return false; }
  [[nodiscard]] bool holds_unread() const noexcept override { return false; }

  copy_result read_remote(std::uint32_t /*peer*/, memory_pieces /*here*/, memory_pieces /*there*/) noexcept override {
    return copy_result::unavailable;
  }
  copy_result write_remote(std::uint32_t /*peer*/, memory_pieces /*here*/, memory_pieces /*there*/) noexcept override {
    return copy_result::unavailable;
  }

  /// Only of transports whose messages pass through the rings of `net/ring/`.
  [[nodiscard]] const route* route_to(std::uint32_t /*peer*/) const noexcept override { return nullptr; }

  /// Messages under way to a slot outlive its device: the adopter polls them, too.
  void adopt(std::uint32_t /*slot*/) noexcept override {}
  void release(std::uint32_t /*slot*/) noexcept override {}

  [[nodiscard]] template_transport& owner() const noexcept { return *owner_; }
  [[nodiscard]] std::uint32_t slot() const noexcept { return slot_; }

 private:
  template_transport* owner_;
  std::uint32_t slot_;
};

template <class Sink>
std::unique_ptr<endpoint<Sink>> template_transport::open(std::uint32_t slot, bool /*shared*/, std::uint32_t /*cells*/) {
  return std::make_unique<template_endpoint<Sink>>(*this, slot);
}

}  // namespace weft::net
