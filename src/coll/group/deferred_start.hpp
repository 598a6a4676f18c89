// SPDX-License-Identifier: BSD-3-Clause
// A start that may have to wait until its numbers are open.
#pragma once

#include "coll/group/group_numbers.hpp"
#include "weft/error.hpp"

namespace weft::coll {

class deferred_start {
 public:
  [[nodiscard]] start_numbers& numbers() noexcept { return numbers_; }
  /// The start that has waited for its numbers runs now, or ends with the error `refused`.
  virtual void release(errc refused) noexcept = 0;

 protected:
  deferred_start() = default;
  ~deferred_start() = default;

  start_numbers numbers_;

 private:
  friend class epoch_barrier;
  deferred_start* next_ = nullptr;
};

}  // namespace weft::coll
