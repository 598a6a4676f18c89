// SPDX-License-Identifier: BSD-3-Clause
#include "base/of_fiber.hpp"

#include <exception>
#include <functional>
#include <mutex>
#include <new>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/not_inherited.hpp"
#include "base/this_suspender.hpp"

namespace weft::base {
namespace {

// The successions of fibers of other schedulers. Such a fiber may leave its thread in the middle of a coroutine, and
// Weft does not see that.
class successions {
 public:
  [[nodiscard]] void* find(suspender* suspender, void* fiber) noexcept {
    const std::scoped_lock lock{mutex_};
    const auto found = all_.find({suspender, fiber});
    return found == all_.end() ? nullptr : found->second;
  }
  /// Null takes the entry out. False: there was no memory.
  bool set(suspender* suspender, void* fiber, void* now) noexcept {
    const std::scoped_lock lock{mutex_};
    if (now == nullptr) {
      all_.erase({suspender, fiber});
      return true;
    }
    try {
      all_.insert_or_assign({suspender, fiber}, now);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

 private:
  using key = std::pair<suspender*, void*>;
  struct hash {
    std::size_t operator()(const key& entry) const noexcept {
      return std::hash<const void*>{}(entry.first) * 31 + std::hash<const void*>{}(entry.second);
    }
  };

  process_lock mutex_;
  std::unordered_map<key, void*, hash> all_;
};

// Never destroyed: threads may run coroutines after the last static destructor.
successions& foreign() noexcept {
  static successions& all = *new successions;
  return all;
}

// The fiber of another scheduler that the calling thread runs; null: none. Only where `are_foreign`.
std::pair<suspender*, void*> foreign_fiber() noexcept {
  suspender* const suspender = this_suspender();
  void* const me = suspender == nullptr ? nullptr : suspender->current();
  return {me == nullptr ? nullptr : suspender, me};
}

void set_word(void* now) noexcept {
  fiber_words& here = words_of_fiber;
  here.succession = now;
  here.flags &= ~fiber_words::has_succession;
  if (now != nullptr) here.flags |= fiber_words::has_succession;
}

[[gnu::noinline]] void suspend_with_words(suspender& suspender) noexcept {
  const taken_along mine;
  suspender.suspend();
}

}  // namespace

[[gnu::noinline]] void* this_succession() noexcept {
  if (!words_of_fiber.are_foreign) [[likely]]
    return words_of_fiber.succession;
  const auto [suspender, fiber] = foreign_fiber();
  return suspender == nullptr ? words_of_fiber.succession : foreign().find(suspender, fiber);
}

[[gnu::noinline]] succession_mark::succession_mark(void* mine) noexcept {
  if (words_of_fiber.are_foreign) [[unlikely]]
    std::tie(suspender_, fiber_) = foreign_fiber();
  if (suspender_ == nullptr) {
    outer_ = words_of_fiber.succession;
    set_word(mine);
  } else {
    outer_ = foreign().find(suspender_, fiber_);
    foreign().set(suspender_, fiber_, mine);
  }
}

[[gnu::noinline]] succession_mark::~succession_mark() {
  if (suspender_ != nullptr) {
    foreign().set(suspender_, fiber_, outer_);
  } else {
    set_word(outer_);
  }
}

[[gnu::noinline]] taken_along::taken_along() noexcept {
  fiber_words& here = words_of_fiber;
  if (!here.are_foreign && here.succession != nullptr) {
    succession_ = here.succession;
    set_word(nullptr);
  }
  has_text_ = (here.flags & fiber_words::has_error_text) != 0 && std::uncaught_exceptions() != 0;
  here.flags &= ~fiber_words::has_error_text;
  if (has_text_) text_ = last_error_text();
}

[[gnu::noinline]] taken_along::~taken_along() {
  if (succession_ != nullptr) set_word(succession_);
  if (!has_text_) return;
  last_error_text() = text_;
  words_of_fiber.flags |= fiber_words::has_error_text;
}

void suspend_by(suspender& suspender) noexcept {
  if (has_fiber_words()) [[unlikely]]
    return suspend_with_words(suspender);
  suspender.suspend();
}

}  // namespace weft::base
