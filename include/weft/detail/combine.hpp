// The loop of reductions over arithmetic types and other elements (collectives.hpp).
#pragma once

#include <cstddef>

namespace weft::detail {

/// Each of `inout` becomes its combination with that of `in`. The arrays do not overlap.
///
/// GCC vectorizes at -O2 only loops whose length it knows to be a multiple of a vector's: so the elements are combined
/// in runs of one length, each without a branch, and the rest one by one.
template <class Element, class Callable>
inline void combine_elements(const Element* __restrict in, Element* __restrict inout, std::size_t count,
                             const Callable& callable) noexcept {
  constexpr std::size_t run_bytes = 64;
  constexpr std::size_t run = sizeof(Element) < run_bytes / 4 ? run_bytes / sizeof(Element) : 4;
  for (; count >= run; count -= run, in += run, inout += run) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 4
#endif
    for (std::size_t i = 0; i < run; ++i) inout[i] = static_cast<Element>(callable(in[i], inout[i]));
  }
  for (std::size_t i = 0; i < count; ++i) inout[i] = static_cast<Element>(callable(in[i], inout[i]));
}

}  // namespace weft::detail
