// SPDX-License-Identifier: BSD-3-Clause
// Messages of a rank to itself, whose receives come first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Receives of words, whose tags begin at `first`.
class own_messages {
 public:
  explicit own_messages(std::size_t count) : words_(count) {}
  void post(device& dev, completion& local, std::uint64_t first = 0) {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      static_cast<void>(test::post(dev, [&] {
        return dev.post_recv(dev.runtime().rank(), std::span{&words_[i], 1}, local, {.tag = first + i});
      }));
    }
  }
  void send(device& dev, std::size_t number, std::uint64_t value, std::uint64_t first = 0) {
    static_cast<void>(test::post(dev, [&] {
      counter* const none = sent_for(dev);
      return dev.post_send(dev.runtime().rank(), std::span{&value, 1}, *none, {.tag = first + number});
    }));
  }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }

 private:
  counter* sent_for(device& dev) {
    if (!sent_) sent_.emplace(dev.runtime());
    return &*sent_;
  }
  std::vector<std::uint64_t> words_;
  std::optional<counter> sent_;
};

}  // namespace weft::test
