// SPDX-License-Identifier: BSD-3-Clause
#include "net/ring/sleep_word.hpp"

#include "base/futex.hpp"

namespace weft::net {

[[gnu::cold]] void wake_sleepers(sleep_word& word) noexcept {
  if (word.take()) base::wake_all(word.value);
}

}  // namespace weft::net
