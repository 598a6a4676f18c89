// SPDX-License-Identifier: BSD-3-Clause
// The loop of reductions over arithmetic types and other elements (collectives.hpp).
#pragma once

#include <cstddef>
#include <type_traits>

namespace weft::detail {

/// Each of `out` becomes the combination of an element of `lower` and one of `higher`, in this order. `out` is one of
/// these two arrays, which do not overlap.
///
/// GCC vectorizes at -O2 only loops whose length it knows to be a multiple of a vector's: so the elements are combined
/// in runs of one length, each without a branch, and the rest one by one.
template <class Element, class Callable>
inline void combine_elements(const Element* lower, const Element* higher, Element* out, std::size_t count,
                             const Callable& callable) noexcept {
  constexpr std::size_t run_bytes = 64;
  constexpr std::size_t run = sizeof(Element) < run_bytes / 4 ? run_bytes / sizeof(Element) : 4;
  for (; count >= run; count -= run, lower += run, higher += run, out += run) {
#if defined(__clang__)
    // Clang vectorizes a run if it reads all before it writes.
    if constexpr (std::is_default_constructible_v<Element>) {
      Element results[run];
      for (std::size_t i = 0; i < run; ++i) results[i] = static_cast<Element>(callable(lower[i], higher[i]));
      for (std::size_t i = 0; i < run; ++i) out[i] = results[i];
      continue;
    }
#elif defined(__GNUC__)
#pragma GCC ivdep
#pragma GCC unroll 4
#endif
    for (std::size_t i = 0; i < run; ++i) out[i] = static_cast<Element>(callable(lower[i], higher[i]));
  }
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<Element>(callable(lower[i], higher[i]));
}

/// Combines as `combine_elements`, in one function for both arrays: compilers exchange the operands of an addition
/// or a multiplication, each time as they like, and of two NaNs the processor takes the first one. So two ranks that
/// combine the same elements get the same bits, whichever array they write.
template <class Element, class Callable>
[[gnu::noinline]] void combine_by_same_code(const Element* lower, const Element* higher, Element* out,
                                            std::size_t count, const Callable& callable) noexcept {
  combine_elements(lower, higher, out, count, callable);
}

}  // namespace weft::detail
