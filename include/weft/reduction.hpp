// SPDX-License-Identifier: BSD-3-Clause
// How reductions combine elements (collectives.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <type_traits>

#include "weft/detail/combine.hpp"

namespace weft {

namespace detail {

/// A number for a type, equal at all ranks of a program: a hash (FNV-1a) of its name.
template <class... Types>
[[nodiscard]] constexpr std::uint64_t number_of_types() noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325;
  for (const char each : std::string_view{__PRETTY_FUNCTION__})
    out = (out ^ static_cast<unsigned char>(each)) * 0x100'0000'01b3;
  return out;
}

}  // namespace detail

/// An element of reductions: any that can be copied byte by byte.
template <class Element>
concept reduced_element = std::is_trivially_copyable_v<Element>;

/// A callable that combines two elements. The callable may not throw.
template <class Callable, class Element>
concept combines = reduced_element<Element> && requires(const Callable& callable, const Element& element) {
  static_cast<Element>(callable(element, element));
};

namespace reductions {

/// The smaller one of two.
struct min {
  /// The smaller one. **Blocking**: never. **Threads**: any. **Errors**: none.
  template <class Element>
  [[nodiscard]] constexpr Element operator()(const Element& a, const Element& b) const noexcept {
    return b < a ? b : a;
  }
};
/// The larger one of two.
struct max {
  /// The larger one. **Blocking**: never. **Threads**: any. **Errors**: none.
  template <class Element>
  [[nodiscard]] constexpr Element operator()(const Element& a, const Element& b) const noexcept {
    return a < b ? b : a;
  }
};

/// Whether one of two is not zero, and the other one is, as MPI_LXOR. The others are std::logical_and and
/// std::logical_or.
struct logical_xor {
  /// Whether they differ so. **Blocking**: never. **Threads**: any. **Errors**: none.
  template <class Element>
  [[nodiscard]] constexpr bool operator()(const Element& a, const Element& b) const noexcept {
    return static_cast<bool>(a) != static_cast<bool>(b);
  }
};

/// A value, and where it was found.
template <class Value, class Index = std::uint64_t>
struct located {
  Value value;  ///< what is compared
  Index index;  ///< the smallest one counts of equal values
};
/// The smaller value of two, as MPI_MINLOC.
struct min_located {
  /// The smaller one. **Blocking**: never. **Threads**: any. **Errors**: none.
  template <class Value, class Index>
  [[nodiscard]] constexpr located<Value, Index> operator()(const located<Value, Index>& a,
                                                           const located<Value, Index>& b) const noexcept {
    const bool takes_a = (a.value < b.value) | (!(b.value < a.value) & (a.index < b.index));
    return takes_a ? a : b;
  }
};
/// The larger value of two, as MPI_MAXLOC.
struct max_located {
  /// The larger one. **Blocking**: never. **Threads**: any. **Errors**: none.
  template <class Value, class Index>
  [[nodiscard]] constexpr located<Value, Index> operator()(const located<Value, Index>& a,
                                                           const located<Value, Index>& b) const noexcept {
    const bool takes_a = (b.value < a.value) | (!(a.value < b.value) & (a.index < b.index));
    return takes_a ? a : b;
  }
};

}  // namespace reductions

namespace detail {

template <class Callable, class... Others>
concept is_one_of = (std::is_same_v<Callable, Others> || ...);

/// Whether a callable gives equal bits with its operands exchanged.
template <class Element, class Callable>
inline constexpr bool is_symmetric = std::is_integral_v<Element>&&
    is_one_of<Callable, std::plus<>, std::multiplies<>, std::bit_and<>, std::bit_or<>, std::bit_xor<>,
              std::logical_and<>, std::logical_or<>, reductions::min, reductions::max, reductions::logical_xor>;

/// The functions of a reduction by a callable, which is `context` if it has state.
template <class Element, class Callable>
struct combining {
  using function = void (*)(const void* input, void* inout, std::size_t count, void* context);

  static void combine(const void* input, void* inout, std::size_t count, void* context) {
    auto* const out = static_cast<Element*>(inout);
    if constexpr (is_symmetric<Element, Callable>) {
      combine_elements(static_cast<const Element*>(input), out, out, count, Callable{});
    } else {
      combine_with(static_cast<const Element*>(input), out, out, count, context);
    }
  }
  static void combine_higher(const void* input, void* inout, std::size_t count, void* context) {
    auto* const out = static_cast<Element*>(inout);
    combine_with(out, static_cast<const Element*>(input), out, count, context);
  }
  [[nodiscard]] static constexpr function higher() noexcept {
    if constexpr (is_symmetric<Element, Callable>) {
      return &combine;
    } else {
      return &combine_higher;
    }
  }

 private:
  static void combine_with(const Element* lower, const Element* higher, Element* out, std::size_t count,
                           void* context) {
    if constexpr (std::is_empty_v<Callable> && std::is_default_constructible_v<Callable>) {
      combine_by_same_code(lower, higher, out, count, Callable{});
    } else {
      combine_by_same_code(lower, higher, out, count, *static_cast<const Callable*>(context));
    }
  }
};

}  // namespace detail

/// How a reduction combines elements. All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
struct reduction {
  /// Combines `count` elements: each of `inout` becomes its combination with that of `input`, which is of lower ranks.
  /// The two arrays do not overlap.
  void (*combine)(const void* input, void* inout, std::size_t count, void* context) = nullptr;
  void* context = nullptr;        ///< argument of `combine`
  std::size_t element_bytes = 1;  ///< size of one element
  bool is_commutative = true;     ///< if not, no algorithm is taken that begins with another rank than the first
  /// Names the function and the type of the elements, for members that compare their calls (`WEFT_CHECK=1`). 0: it has
  /// no name, and is not compared.
  std::uint64_t identity = 0;
  /// Combines as `combine`, but `input` is of higher ranks: each of `inout` becomes its combination with the one of
  /// `input`, in this order. Null: then the library calls `combine` with copies of the elements where the result is to
  /// be in the array of the lower ranks.
  void (*combine_higher)(const void* input, void* inout, std::size_t count, void* context) = nullptr;

  /// The reduction of elements by a callable without state, such as `std::plus<>`. The callable may not
  /// throw.
  template <reduced_element Element, class Callable = std::plus<>>
  requires(combines<Callable, Element>&& std::is_empty_v<Callable>&& std::is_default_constructible_v<Callable>)  //
      [[nodiscard]] static constexpr reduction
      callable(Callable /*function*/ = {}, bool is_commutative = true) noexcept {
    using functions = detail::combining<Element, Callable>;
    return {.combine = &functions::combine,
            .context = nullptr,
            .element_bytes = sizeof(Element),
            .is_commutative = is_commutative,
            .identity = detail::number_of_types<Element, Callable>(),
            .combine_higher = functions::higher()};
  }
  template <class Element, class WriteCallableWithoutStateOrUseCallableRef = std::plus<>>
  static reduction callable(WriteCallableWithoutStateOrUseCallableRef = {}, bool = true) = delete;
  /// The reduction by a callable with state. **Buffer**: `function` is the caller's, and must live until the collective
  /// is complete; several threads may call it at the same time.
  template <reduced_element Element, class Callable>
  requires combines<Callable, Element>  //
  [[nodiscard]] static constexpr reduction callable_ref(const Callable& function, bool is_commutative = true) noexcept {
    using functions = detail::combining<Element, Callable>;
    return {.combine = &functions::combine,
            .context = const_cast<Callable*>(&function),
            .element_bytes = sizeof(Element),
            .is_commutative = is_commutative,
            .identity = detail::number_of_types<Element, Callable>(),
            .combine_higher = functions::higher()};
  }
  template <reduced_element Element, class Callable>
  static reduction callable_ref(const Callable&& function,
                                bool is_commutative = true) = delete;  // ends before the collective
  template <class Element, class WriteCallableThatCombinesTwoElements>
  static reduction callable_ref(const WriteCallableThatCombinesTwoElements&, bool = true) = delete;

  /// The old name of `callable`.
  template <reduced_element Element, class Callable = std::plus<>>
  requires(combines<Callable, Element>&& std::is_empty_v<Callable>&& std::is_default_constructible_v<Callable>)  //
      [[deprecated("use callable")]] [[nodiscard]] static constexpr reduction
      by(Callable function = {}, bool is_commutative = true) noexcept {
    return callable<Element, Callable>(function, is_commutative);
  }
  /// The old name of `callable_ref`.
  template <reduced_element Element, class Callable>
  requires combines<Callable, Element>  //
  [[deprecated("use callable_ref")]] [[nodiscard]] static constexpr reduction by_ref(
      const Callable& function, bool is_commutative = true) noexcept {
    return callable_ref<Element>(function, is_commutative);
  }
  template <reduced_element Element, class Callable>
  static reduction by_ref(const Callable&& function,
                          bool is_commutative = true) = delete;  // ends before the collective
};

}  // namespace weft
