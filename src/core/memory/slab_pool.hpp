// SPDX-License-Identifier: BSD-3-Clause
// Elements that never move, in slabs: a pool takes one more slab when all its elements are in use. A free element is
// taken and put back without a lock.
//
// Progress: lock-free. Two threads that find no free element each take a slab of their own. Callers: any thread may
// call any function but the constructor, the destructor, `each` and `close_for_ever`. Linearization: the successful
// exchange of `head_`; of a slab, that of its word in the directory. Reuse: `head_` also counts every exchange. So a
// call notices an element that was taken and put back meanwhile, unless 2^32 exchanges pass within the call (ABA). An
// element keeps its address and its index until the end of the pool, and its link is used for nothing else: a reader
// that is too late reads a stale link, never bytes of an element in use. Layout: an element has the index of its slab
// in the high bits of its own, and no table but the directory is read. Model test: tests/model/slab_pool_test.cpp.
//
// Cost: to take an element, the head, the directory's word, and the line of the element's link; to put it back, the
// last one and the head. A slab costs a call of the system and the construction of its elements.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "base/assertion.hpp"
#include "core/memory/pool_bounds.hpp"
#include "core/memory/state_budget.hpp"
#include "weft/detail/atomics.hpp"
#include "weft/detail/atomics_support.hpp"

namespace weft::core {

/// The member `pooled` of every element. It is the pool's.
template <class Atomics = detail::std_atomics>
struct basic_pooled {
  typename Atomics::template atomic<std::uint32_t> below{
      0};                   // while the element is free: the next free one's index + 1
  std::uint32_t index = 0;  // stays as it is
};
using pooled = basic_pooled<>;

template <class Element, class Atomics = detail::std_atomics, std::uint32_t SlabElements = 256>
class basic_slab_pool {
  static_assert(std::is_trivially_destructible_v<Element> && std::has_single_bit(SlabElements));

 public:
  static constexpr std::uint32_t slab_elements = SlabElements;

  /// Bytes of the slabs that a pool with these bounds has from the beginning.
  [[nodiscard]] static constexpr std::uint64_t bytes_at_first(const pool_bounds& bounds) noexcept {
    return std::uint64_t{rounded(bounds).at_first} * sizeof(Element);
  }

  /// Bytes of the slabs that have room for so many elements.
  [[nodiscard]] static constexpr std::uint64_t bytes_of(std::uint32_t elements) noexcept {
    return std::uint64_t{rounded({0, elements}).most} * sizeof(Element);
  }

  /// `budget` has room for the elements of the beginning. **Errors**: out_of_memory.
  basic_slab_pool(const pool_bounds& bounds, state_budget& budget)
      : most_{rounded(bounds).most},
        slabs_max_{(most_ + SlabElements - 1) / SlabElements},
        budget_{&budget},
        directory_{static_cast<slab*>(support::allocate_zeroed(directory_bytes()))} {
    if (directory_ == nullptr) state_budget::throw_no_memory(directory_bytes());
    for (std::uint32_t left = rounded(bounds).at_first; left != 0;) {
      Element* first = nullptr;
      std::uint32_t count = 1;
      if (add_slab(&first, count) != pool_end::none) {
        release_all();
        state_budget::throw_no_memory(bytes_at_first(bounds));
      }
      put(*first);
      left -= std::min(left, SlabElements);
    }
  }
  ~basic_slab_pool() { release_all(); }
  basic_slab_pool(const basic_slab_pool&) = delete;
  basic_slab_pool& operator=(const basic_slab_pool&) = delete;

  /// A free element; null: there is none, and no slab to be had, for the reason `why`.
  [[nodiscard]] Element* try_take(pool_end& why) noexcept {
    Element* out = try_pop();
    if (out == nullptr) [[unlikely]] {
      std::uint32_t count = 1;
      why = add_slab(&out, count);
    }
    return out;
  }

  /// Takes up to `room` elements, into `out`, by one exchange; returns how many. None: as of `try_take`.
  [[nodiscard]] std::uint32_t take_many(Element** out, std::uint32_t room, pool_end& why) noexcept {
    if (const std::uint32_t count = pop_many(out, room); count != 0) [[likely]]
      return count;
    why = add_slab(out, room);
    return room;
  }

  void put(Element& free) noexcept { push_chain(free, free); }

  /// Puts `count` elements back by one exchange, the first of them on top.
  void put_many(Element* const* free, std::uint32_t count) noexcept {
    if (count == 0) return;
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
      // [slab.link_many] relaxed: published by the exchange.
      free[i]->pooled.below.store(free[i + 1]->pooled.index + 1, std::memory_order_relaxed);
    }
    push_chain(*free[0], *free[count - 1]);
  }

  /// The element with this index, free or not, which may come from a peer; null: the pool has none.
  [[nodiscard]] Element* find(std::uint64_t index) noexcept {
    if (index >= most_) return nullptr;
    // [slab.find] acquire <- [slab.add]: the elements as they were constructed.
    Element* const first = directory_[index / SlabElements].load(std::memory_order_acquire);
    return first != nullptr ? first + index % SlabElements : nullptr;
  }

  /// Visits all elements, free or not. **Threads**: any; elements of slabs that are taken meanwhile may be missed.
  template <class Visit>
  void each(const Visit& visit) {
    for (std::uint32_t number = 0; number < slabs_max_; ++number) {
      // [slab.find] acquire <- [slab.add]: the elements as they were constructed.
      Element* const first = directory_[number].load(std::memory_order_acquire);
      if (first == nullptr) return;
      for (std::uint32_t i = 0; i < elements_in(number); ++i) visit(first[i]);
    }
  }

  /// Takes all free elements, for the end of the pool, until `visit` answers false.
  template <class Visit>
  void take_all_free(const Visit& visit) {
    for (Element* each = try_pop(); each != nullptr && visit(*each); each = try_pop()) continue;
  }

  /// How many elements there are, free or not, but for slabs that are being taken.
  [[nodiscard]] std::uint32_t count() const noexcept {
    const std::uint32_t slabs = slab_count_.load(std::memory_order_relaxed);  // [hint] see above
    return std::min(slabs * SlabElements, most_);
  }
  /// How many there can be at most.
  [[nodiscard]] std::uint32_t most() const noexcept { return most_; }

  /// Leaves no element free, and lets no slab be taken. **Threads**: the only one of the process.
  void close_for_ever() noexcept {
    is_closed_ = true;
    // [slab.close] relaxed: the process has one thread.
    const std::uint64_t seen = head_.load(std::memory_order_relaxed);
    // [slab.close] relaxed: the process has one thread.
    head_.store(next_head(seen, 0), std::memory_order_relaxed);
  }

 private:
  using support = detail::atomics_support<Atomics>;
  using slab = typename Atomics::template atomic<Element*>;  // its first element

  // A pool that grows takes whole slabs.
  [[nodiscard]] static constexpr pool_bounds rounded(const pool_bounds& bounds) noexcept {
    if (bounds.at_first >= bounds.most) return {bounds.most, bounds.most};
    const auto whole = [](std::uint32_t count) { return (count + SlabElements - 1) / SlabElements * SlabElements; };
    return {whole(bounds.at_first), whole(bounds.most)};
  }
  [[nodiscard]] std::size_t directory_bytes() const noexcept { return std::max(slabs_max_, 1U) * sizeof(slab); }
  [[nodiscard]] std::uint32_t elements_in(std::uint32_t number) const noexcept {
    return std::min(SlabElements, most_ - number * SlabElements);
  }

  // The format of `head_` and of links. Low half: index + 1, so that zero is empty. High half of `head_`: exchanges so
  // far.
  [[nodiscard]] static std::uint64_t next_head(std::uint64_t seen, std::uint32_t link) noexcept {
    return ((seen >> 32) + 1) << 32 | link;
  }
  [[nodiscard]] static std::uint32_t link_of(std::uint64_t head) noexcept { return static_cast<std::uint32_t>(head); }
  // The element that a link names; null if the link is stale, and names a slab that this thread does not see yet. The
  // head's own link is never stale.
  [[nodiscard]] Element* element_at(std::uint32_t link) noexcept {
    const std::uint32_t index = link - 1;
    // [slab.at] relaxed: the head has carried the slab as well as the link.
    Element* const first = directory_[index / SlabElements].load(std::memory_order_relaxed);
    return first != nullptr ? first + index % SlabElements : nullptr;
  }

  [[nodiscard]] Element* try_pop() noexcept {
    // [slab.peek] acquire <- [slab.push]: the element on top, its slab and its link.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    while (link_of(seen) != 0) {
      Element* const top = element_at(link_of(seen));
      support::must_exist(top);
      // [slab.next] relaxed: stale only if the head has changed, and then the exchange fails.
      const std::uint32_t below = top->pooled.below.load(std::memory_order_relaxed);
      // [slab.pop] acquire <- [slab.push]: the element on top, its slab and its link.
      if (head_.compare_exchange_weak(seen, next_head(seen, below), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return top;
      }
    }
    return nullptr;
  }

  [[nodiscard]] std::uint32_t pop_many(Element** out, std::uint32_t room) noexcept {
    // [slab.peek_many] acquire <- [slab.push]: the elements on top, their slabs and links.
    std::uint64_t seen = head_.load(std::memory_order_acquire);
    for (;;) {
      std::uint32_t count = 0;
      std::uint32_t link = link_of(seen);
      while (link != 0 && count < room) {
        Element* const next = element_at(link);
        if (next == nullptr) break;  // a stale link: the exchange fails
        out[count++] = next;
        // [slab.next_many] relaxed: stale only if the head has changed, and then the exchange fails.
        link = next->pooled.below.load(std::memory_order_relaxed);
      }
      if (count == 0) return 0;
      // [slab.pop_many] acquire <- [slab.push]: the elements on top, their slabs and links.
      if (head_.compare_exchange_weak(seen, next_head(seen, link), std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        return count;
      }
    }
  }

  // Puts a chain on top, whose links are set but for the last one.
  void push_chain(Element& first, Element& last) noexcept {
    // [slab.look] relaxed: a wrong guess makes the exchange below fail.
    std::uint64_t seen = head_.load(std::memory_order_relaxed);
    do {
      // [slab.link] relaxed: published by the exchange.
      last.pooled.below.store(link_of(seen), std::memory_order_relaxed);
      // [slab.push] release -> [slab.pop], [slab.peek], [slab.pop_many], [slab.peek_many]: the links, the slabs, and
      // the last users' writes to the elements.
    } while (!head_.compare_exchange_weak(seen, next_head(seen, first.pooled.index + 1), std::memory_order_release,
                                          std::memory_order_relaxed));
  }

  // Takes a slab: up to `count` of its elements into `out`, the others become free. Not none: `count` is 0, and nothing
  // has changed.
  [[nodiscard]] [[gnu::cold, gnu::noinline]] pool_end add_slab(Element** out, std::uint32_t& count) noexcept {
    const std::uint32_t room = count;
    count = 0;
    // [slab.number] relaxed: a guess, from which the next free number is found.
    std::uint32_t number = slab_count_.load(std::memory_order_relaxed);
    if (number >= slabs_max_ || is_closed_) return pool_end::count;
    // Holds for the slabs behind it, as only the last one is smaller.
    const std::uint32_t elements = elements_in(number);
    const std::size_t bytes = elements * sizeof(Element);
    if (!budget_->try_take(bytes)) return pool_end::bytes;
    auto* const first = static_cast<Element*>(support::allocate_zeroed(bytes));
    if (first == nullptr) {
      budget_->put_back(bytes);
      return pool_end::no_memory;
    }
    for (std::uint32_t i = 0; i < elements; ++i) new (first + i) Element;
    for (Element* none = nullptr;; ++number, none = nullptr) {
      if (number >= slabs_max_) {
        support::release_zeroed(first, bytes);
        budget_->put_back(bytes);
        return pool_end::count;
      }
      for (std::uint32_t i = 0; i < elements; ++i) {
        first[i].pooled.index = number * SlabElements + i;
        // [slab.chain] relaxed: published by the exchange that makes the elements free.
        first[i].pooled.below.store(first[i].pooled.index + 2, std::memory_order_relaxed);
      }
      // [slab.add] release -> [slab.find]: the elements as they were constructed.
      if (directory_[number].compare_exchange_strong(none, first, std::memory_order_release,
                                                     std::memory_order_relaxed)) {
        break;
      }
    }
    // [slab.number] relaxed: a guess; too small a number only costs a look more.
    slab_count_.fetch_add(1, std::memory_order_relaxed);
    count = std::min(room, elements);
    for (std::uint32_t i = 0; i < count; ++i) out[i] = first + i;
    if (count != elements) push_chain(first[count], first[elements - 1]);
    return pool_end::none;
  }

  void release_all() noexcept {
    for (std::uint32_t number = 0; number < slabs_max_; ++number) {
      Element* const first = directory_[number].load(std::memory_order_relaxed);  // [own] no other thread uses the pool
      if (first == nullptr) break;
      support::release_zeroed(first, elements_in(number) * sizeof(Element));
      budget_->put_back(elements_in(number) * sizeof(Element));
    }
    support::release_zeroed(directory_, directory_bytes());
  }

  std::uint32_t most_;
  std::uint32_t slabs_max_;
  state_budget* budget_;
  slab* directory_;
  bool is_closed_ = false;
  typename Atomics::template atomic<std::uint32_t> slab_count_{0};
  alignas(detail::cache_line_bytes) typename Atomics::template atomic<std::uint64_t> head_{0};
};

template <class Element>
using slab_pool = basic_slab_pool<Element>;

}  // namespace weft::core
