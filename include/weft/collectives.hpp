// SPDX-License-Identifier: BSD-3-Clause
// Collectives: operations in which all members of a group take part (group.hpp).
//
// A `collective` says what is to be done with which buffers. It can be carried out in every form: `run` it and wait;
// `post` it with a completion object, as a node of a graph does; or `keep` it and start it many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/buffer.hpp"
#include "weft/completion.hpp"
#include "weft/detail/combine.hpp"
#include "weft/group.hpp"
#include "weft/status.hpp"

namespace weft {

namespace coll {
class kept_run;
}

namespace detail {

/// A number for a type, the same at all ranks of a program: a hash (FNV-1a) of its name.
template <class... Types>
[[nodiscard]] constexpr std::uint64_t number_of_types() noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325;
  for (const char each : std::string_view{__PRETTY_FUNCTION__})
    out = (out ^ static_cast<unsigned char>(each)) * 0x100'0000'01b3;
  return out;
}

}  // namespace detail

/// Of reductions: any element that can be copied byte by byte.
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
  Index index;  ///< of equal values the smallest one counts
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

/// Whether a callable gives the same bits with its operands exchanged.
template <class Element, class Callable>
inline constexpr bool is_symmetric = std::is_integral_v<Element>&&
    is_one_of<Callable, std::plus<>, std::multiplies<>, std::bit_and<>, std::bit_or<>, std::bit_xor<>,
              std::logical_and<>, std::logical_or<>, reductions::min, reductions::max, reductions::logical_xor>;

/// The functions of a reduction by a callable, which is `context` if it has state.
template <class Element, class Callable>
struct combining {
  using function = void (*)(const void* in, void* inout, std::size_t count, void* context);

  static void combine(const void* in, void* inout, std::size_t count, void* context) {
    auto* const out = static_cast<Element*>(inout);
    if constexpr (is_symmetric<Element, Callable>) {
      combine_elements(static_cast<const Element*>(in), out, out, count, Callable{});
    } else {
      combine_with(static_cast<const Element*>(in), out, out, count, context);
    }
  }
  static void combine_higher(const void* in, void* inout, std::size_t count, void* context) {
    auto* const out = static_cast<Element*>(inout);
    combine_with(out, static_cast<const Element*>(in), out, count, context);
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
  /// Combines `count` elements: each of `inout` becomes its combination with that of `in`, which is of lower ranks. The
  /// two arrays do not overlap.
  void (*combine)(const void* in, void* inout, std::size_t count, void* context) = nullptr;
  void* context = nullptr;        ///< for `combine`
  std::size_t element_bytes = 1;  ///< of one element
  bool is_commutative = true;     ///< if not, no algorithm is taken that begins with another rank than the first
  /// Names the function and the type of the elements, for members that compare their calls (`WEFT_CHECK=1`). 0: it has
  /// no name, and is not compared.
  std::uint64_t identity = 0;
  /// As `combine`, but `in` is of higher ranks: each of `inout` becomes its combination with the one of `in`, in this
  /// order. Null: then the library calls `combine` with copies of the elements where the result is to be in the array
  /// of the lower ranks.
  void (*combine_higher)(const void* in, void* inout, std::size_t count, void* context) = nullptr;

  /// The reduction of elements by a callable without state, such as `std::plus<>`. The callable may not
  /// throw.
  template <reduced_element Element, class Callable = std::plus<>>
  requires(combines<Callable, Element>&& std::is_empty_v<Callable>&& std::is_default_constructible_v<Callable>)  //
      [[nodiscard]] static constexpr reduction by(Callable /*how*/ = {}, bool is_commutative = true) noexcept {
    using functions = detail::combining<Element, Callable>;
    return {.combine = &functions::combine,
            .context = nullptr,
            .element_bytes = sizeof(Element),
            .is_commutative = is_commutative,
            .identity = detail::number_of_types<Element, Callable>(),
            .combine_higher = functions::higher()};
  }
  /// The reduction by a callable with state. **Buffer**: `how` is the caller's, and must live until the collective is
  /// complete; several threads may call it at the same time.
  template <reduced_element Element, class Callable>
  requires combines<Callable, Element>  //
  [[nodiscard]] static constexpr reduction by_ref(const Callable& how, bool is_commutative = true) noexcept {
    using functions = detail::combining<Element, Callable>;
    return {.combine = &functions::combine,
            .context = const_cast<Callable*>(&how),
            .element_bytes = sizeof(Element),
            .is_commutative = is_commutative,
            .identity = detail::number_of_types<Element, Callable>(),
            .combine_higher = functions::higher()};
  }
  template <reduced_element Element, class Callable>
  static reduction by_ref(const Callable&& how, bool is_commutative = true) = delete;  // ends before the collective
};

/// A buffer of a collective, or `{}`, which means in place. A buffer is never in place, also one of no bytes: an empty
/// container, or a null address.
///
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
template <class Buffer>
class basic_collective_buffer {
  using address = std::conditional_t<std::is_same_v<Buffer, buffer_ref>, void*, const void*>;

 public:
  /// In place, as `{}` says.
  constexpr basic_collective_buffer() noexcept = default;
  /// The same by its name.
  [[nodiscard]] static constexpr basic_collective_buffer inplace() noexcept { return {}; }

  /// A container, or any other buffer.
  template <class Source>
  requires std::is_convertible_v<Source, Buffer>  //
  constexpr basic_collective_buffer(Source&& source) noexcept
      : buffer_{std::forward<Source>(source)}, is_inplace_{false} {}
  /// `bytes` bytes from `begin` on.
  constexpr basic_collective_buffer(address begin, std::size_t bytes) noexcept
      : buffer_{begin, bytes}, is_inplace_{false} {}
  /// `bytes` bytes of the memory `memory` (memory.hpp), which must live until the collective is complete.
  constexpr basic_collective_buffer(address begin, std::size_t bytes, const weft::memory& memory) noexcept
      : buffer_{begin, bytes, memory}, is_inplace_{false} {}
  basic_collective_buffer(address, std::size_t, const weft::memory&&) = delete;  // it ends before the collective

  /// Whether it is `{}`.
  [[nodiscard]] constexpr bool is_inplace() const noexcept { return is_inplace_; }
  /// The buffer. If it is `{}`: one of no bytes.
  [[nodiscard]] constexpr const Buffer& buffer() const noexcept { return buffer_; }

 private:
  Buffer buffer_;
  bool is_inplace_ = true;
};

/// What a member gives to a collective.
using collective_input = basic_collective_buffer<const_buffer_ref>;
/// What a member gets from a scatter.
using collective_output = basic_collective_buffer<buffer_ref>;

namespace detail {

/// The reduction by a callable of any type, which may be a temporary if it has no state.
template <class Element, class Callable>
[[nodiscard]] constexpr reduction reduction_by(Callable&& how) noexcept {
  using callable = std::remove_cvref_t<Callable>;
  if constexpr (std::is_empty_v<callable> && std::is_default_constructible_v<callable>) {
    return reduction::by<Element, callable>();
  } else {
    static_assert(std::is_lvalue_reference_v<Callable&&>,
                  "the callable has state and is a temporary, which ends before the collective: keep it in a variable "
                  "until the collective is complete");
    return reduction::by_ref<Element>(how);
  }
}

/// A container whose elements can be written, and a callable that combines those.
template <class Out, class Callable>
concept reduced_container = byte_container<std::remove_reference_t<Out>> && !std::is_const_v<element_of<Out>> &&
                            combines<std::remove_cvref_t<Callable>, element_of<Out>>;

/// A container of such elements, or `{}`: in place.
template <class Element>
class elements_in {
 public:
  constexpr elements_in() noexcept = default;
  template <class Container>
  requires(byte_container<std::remove_reference_t<Container>>&&
               std::is_same_v<std::remove_cv_t<element_of<Container>>, Element>)  //
      constexpr elements_in(Container&& elements) noexcept
      : input_{std::forward<Container>(elements)} {}
  [[nodiscard]] constexpr const collective_input& input() const noexcept { return input_; }

 private:
  collective_input input_;
};

}  // namespace detail

/// The sizes and places of blocks, one for each member. **Buffer**: both arrays are the caller's, and must live until
/// the collective is complete.
struct blocks {
  std::span<const std::uint64_t> bytes;    ///< of each block
  std::span<const std::uint64_t> offsets;  ///< of each block in its buffer, in bytes
};

/// The operation of a collective.
enum class collective_operation : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  reduce_scatter,
  scan,
  exscan,
};

/// The name of an operation, as in `reduce_scatter`. **Blocking**: never. **Threads**: any. **Errors**: none.
[[nodiscard]] std::string_view name_of(collective_operation which) noexcept;

/// Options of a collective.
struct collective_options {
  /// The algorithm, by its name (docs/collectives.md); empty: chosen by the number of ranks and bytes.
  std::string_view algorithm = {};
  /// Whether a start may throw `backlog_full`, if this member is thousands of collectives ahead of another one. False:
  /// the start is *posted* all the same, and its messages follow when the others have caught up.
  bool allow_backlog_full = true;
};

/// A collective that can be started many times with the buffers that it was made with.
///
/// A start after the first ones allocates nothing. The destructor ends a start that is under way early, as the end of a
/// graph does (`graph::abandon`), so that other members may wait for ever.
///
/// All functions, unless one says otherwise: **Blocking**: never, but for that end. **Threads**: as for starting a
/// collective. **Errors**: none.
class persistent_collective {
 public:
  /// Takes it over; the other one may only be assigned to or destroyed.
  persistent_collective(persistent_collective&&) noexcept;
  /// Ends its own, as the destructor does, and takes the other one over.
  persistent_collective& operator=(persistent_collective&&) noexcept;
  ~persistent_collective();

  /// Starts it. `local` is signalled once this member's part is complete, with a record of `operation::graph` that has
  /// `context` and the first error. It makes progress when the group's device does. **Buffer**: the library's from the
  /// start to the signal. **Returns**: *posted*. **Errors**: `invalid_state` while the last start is under way;
  /// `backlog_full`.
  status start(completion& local, void* context = nullptr);
  /// Starts it and waits. **Blocking**: until this member's part is complete; makes progress on the group's device.
  /// **Errors**: `invalid_state` while the last start is under way, and inside a handler, a hook or a node of a graph;
  /// the error of an operation of it that failed.
  void run();
  /// Whether a start is under way.
  [[nodiscard]] bool is_running() const noexcept;

 private:
  friend class collective;
  persistent_collective(std::unique_ptr<coll::kept_run> run, bool allow_backlog_full) noexcept;
  std::unique_ptr<coll::kept_run> run_;
  bool allow_backlog_full_;
};

/// What a collective does, with which buffers: made by `broadcast`, `allreduce` and so on. Each member makes its own;
/// all of one collective have one operation, root, sizes that fit, and order among the group's collectives.
///
/// Buffers may lie in memory of any kind, or have layouts (memory.hpp), at each member as it likes. If a function of
/// such memory fails, the collective ends with `memory_failed` at this member, and results of others may be wrong.
///
/// Where input and output are one buffer, the operation works in place, as MPI_IN_PLACE says: name it as the output,
/// and write `{}` for the input. A buffer of no bytes, such as an empty container, is not in place.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: one at a time in one group. **Buffer**:
/// the caller's until the start, and again once this member's part is complete. **Errors**: `invalid_argument` for a
/// root that is no member, sizes that don't fit, memory that can't be used and unknown algorithms; `std::bad_alloc`.
class collective {
 public:
  /// For the library: the parts of it.
  struct parts {
    collective_operation operation = collective_operation::barrier;
    /// The input is `{}`, or the output of a scatter. All members of an alltoall say so, or none of them.
    bool is_inplace = false;
    std::uint32_t root = 0;
    const_buffer_ref in{};
    buffer_ref out{};
    reduction how{};
    blocks in_blocks{};
    blocks out_blocks{};
    /// Of a gather or scatter: that blocks have sizes of their own, which the root alone names.
    bool root_has_blocks = false;
  };

  /// Starts it in `in` and waits. **Blocking**: until this member's part is complete, as `device::wait`. **Errors**:
  /// also `invalid_state` inside a handler, a hook or a node of a graph, and the error of an operation of it that
  /// failed.
  void run(group& in, const collective_options& options = {}) const;
  /// Starts it: as `persistent_collective::start`. **Buffer**: the library's until the signal. **Returns**: *posted*.
  /// **Errors**: also `backlog_full`.
  status post(group& in, completion& local, const collective_options& options = {}, void* context = nullptr) const;
  /// Awaits it in a coroutine: `co_await collective::broadcast(numbers).await(loop, all)`, which returns the record of
  /// `post`. The loop's device is to be the group's.
  template <class Loop>
  [[nodiscard]] auto await(Loop& loop, group in, const collective_options& options = {}) const {
    return loop.post([mine = *this, in = std::move(in), options](completion& local, void* context) mutable {
      return mine.post(in, local, options, context);
    });
  }
  /// Keeps it, so that a start need not look for anything.
  [[nodiscard]] persistent_collective keep(group& in, const collective_options& options = {}) const;

  // What a collective does. None of these touches a buffer.

  /// Complete once all members have started it.
  [[nodiscard]] static collective barrier() noexcept { return collective{collective::parts{}}; }

  /// `buffer` of member `root` to the same buffer of all.
  [[nodiscard]] static collective broadcast(buffer_ref buffer, std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::broadcast, .root = root, .in = buffer, .out = buffer}};
  }
  /// `in` of all members combined, into `out` of all, which has as many bytes. `in` may be `{}`: in place.
  [[nodiscard]] static collective allreduce(const collective_input& in, buffer_ref out, const reduction& how) noexcept {
    return collective{{.operation = collective_operation::allreduce,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .how = how}};
  }
  /// Of elements: `allreduce(mine, all)` adds, `allreduce({}, all, reductions::max{})` is in place.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective allreduce(detail::elements_in<detail::element_of<Out>> in, Out&& out,
                                            Callable&& how = {}) noexcept {
    return allreduce(in.input(), buffer_ref{std::forward<Out>(out)},
                     detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(how)));
  }
  /// `in` of all members combined, into `out` of member `root`. In place at the root if its `in` is `{}`.
  [[nodiscard]] static collective reduce(const collective_input& in, buffer_ref out, const reduction& how,
                                         std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::reduce,
                       .is_inplace = in.is_inplace(),
                       .root = root,
                       .in = in.buffer(),
                       .out = out,
                       .how = how}};
  }
  /// Of elements: `out` of other members than the root may be an empty container.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective reduce(detail::elements_in<detail::element_of<Out>> in, Out&& out,
                                         Callable&& how = {}, std::uint32_t root = 0) noexcept {
    return reduce(in.input(), buffer_ref{std::forward<Out>(out)},
                  detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(how)), root);
  }
  /// `in` of each member, one behind the other, into `out` of member `root`. In place at the root if its `in` is `{}`:
  /// its block lies in `out` already.
  [[nodiscard]] static collective gather(const collective_input& in, buffer_ref out, std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::gather,
                       .is_inplace = in.is_inplace(),
                       .root = root,
                       .in = in.buffer(),
                       .out = out}};
  }
  /// The same with blocks of different sizes. The root gives their places in `out`; the others give none.
  [[nodiscard]] static collective gather(const collective_input& in, buffer_ref out, std::uint32_t root,
                                         const blocks& lists) noexcept {
    return collective{{.operation = collective_operation::gather,
                       .is_inplace = in.is_inplace(),
                       .root = root,
                       .in = in.buffer(),
                       .out = out,
                       .out_blocks = lists,
                       .root_has_blocks = true}};
  }
  /// A block of `in` of member `root` into `out` of each member. In place at the root if its `out` is `{}`.
  [[nodiscard]] static collective scatter(const_buffer_ref in, const collective_output& out,
                                          std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::scatter,
                       .is_inplace = out.is_inplace(),
                       .root = root,
                       .in = in,
                       .out = out.buffer()}};
  }
  /// The same with blocks of different sizes. The root gives their places in `in`; the others give none.
  [[nodiscard]] static collective scatter(const_buffer_ref in, const collective_output& out, std::uint32_t root,
                                          const blocks& lists) noexcept {
    return collective{{.operation = collective_operation::scatter,
                       .is_inplace = out.is_inplace(),
                       .root = root,
                       .in = in,
                       .out = out.buffer(),
                       .in_blocks = lists,
                       .root_has_blocks = true}};
  }
  /// `in` of each member, one behind the other, into `out` of all. `in` may be `{}`: in place.
  [[nodiscard]] static collective allgather(const collective_input& in, buffer_ref out,
                                            const blocks& lists = {}) noexcept {
    return collective{{.operation = collective_operation::allgather,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .out_blocks = lists}};
  }
  /// A block of `in` to each member, and a block of each member into `out`. In place at all members if `in` is `{}` and
  /// `sent` is none, which all members have to say alike.
  [[nodiscard]] static collective alltoall(const collective_input& in, buffer_ref out, const blocks& sent = {},
                                           const blocks& received = {}) noexcept {
    return collective{{.operation = collective_operation::alltoall,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .in_blocks = sent,
                       .out_blocks = received}};
  }
  /// `in` of all members combined; each gets a block of that into `out`. `in` may be `{}`: in place, and `out` has all
  /// blocks.
  [[nodiscard]] static collective reduce_scatter(const collective_input& in, buffer_ref out, const reduction& how,
                                                 const blocks& lists = {}) noexcept {
    return collective{{.operation = collective_operation::reduce_scatter,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .how = how,
                       .out_blocks = lists}};
  }
  /// Of elements: `reduce_scatter(parts, mine)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective reduce_scatter(detail::elements_in<detail::element_of<Out>> in, Out&& out,
                                                 Callable&& how = {}, const blocks& lists = {}) noexcept {
    return reduce_scatter(in.input(), buffer_ref{std::forward<Out>(out)},
                          detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(how)), lists);
  }
  /// `in` of members 0 to this one combined, into `out`. `in` may be `{}`: in place.
  [[nodiscard]] static collective scan(const collective_input& in, buffer_ref out, const reduction& how) noexcept {
    return collective{{.operation = collective_operation::scan,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .how = how}};
  }
  /// Of elements: `scan(mine, sums)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective scan(detail::elements_in<detail::element_of<Out>> in, Out&& out,
                                       Callable&& how = {}) noexcept {
    return scan(in.input(), buffer_ref{std::forward<Out>(out)},
                detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(how)));
  }
  /// `in` of the members below this one combined, into `out`, which member 0 leaves as it is. `in` may
  /// be `{}`: in place.
  [[nodiscard]] static collective exscan(const collective_input& in, buffer_ref out, const reduction& how) noexcept {
    return collective{{.operation = collective_operation::exscan,
                       .is_inplace = in.is_inplace(),
                       .in = in.buffer(),
                       .out = out,
                       .how = how}};
  }
  /// Of elements: `exscan(mine, sums)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective exscan(detail::elements_in<detail::element_of<Out>> in, Out&& out,
                                         Callable&& how = {}) noexcept {
    return exscan(in.input(), buffer_ref{std::forward<Out>(out)},
                  detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(how)));
  }

  /// For the library.
  explicit collective(const parts& of) noexcept : parts_{of} {}

 private:
  parts parts_;
};

}  // namespace weft
