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
#include "weft/group.hpp"
#include "weft/reduction.hpp"
#include "weft/status.hpp"

namespace weft {

namespace coll {
class persistent_run;
}

/// A buffer of a collective, or `{}`, which means in place. A buffer is never in place, also one of no bytes: an empty
/// container, or a null address.
///
/// All functions: **Blocking**: never. **Threads**: any. **Errors**: none.
template <class Buffer>
class basic_collective_buffer {
  using address = std::conditional_t<std::is_same_v<Buffer, buffer_ref>, void*, const void*>;

 public:
  /// Works in place, as `{}` says.
  constexpr basic_collective_buffer() noexcept = default;
  /// Says by its name what `{}` says.
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
[[nodiscard]] constexpr reduction reduction_by(Callable&& function) noexcept {
  using callable = std::remove_cvref_t<Callable>;
  if constexpr (std::is_empty_v<callable> && std::is_default_constructible_v<callable>) {
    return reduction::callable<Element, callable>();
  } else {
    static_assert(std::is_lvalue_reference_v<Callable&&>,
                  "the callable has state and is a temporary, which ends before the collective: keep it in a variable "
                  "until the collective is complete");
    return reduction::callable_ref<Element>(function);
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

/// Arguments of a reduction of elements that fit no overload: one value instead of a container; an output that can't be
/// written byte by byte; elements that the callable does not combine; containers of different elements.
template <class In, class Out>
concept has_single_value = single_value<std::remove_cvref_t<In>> || single_value<std::remove_cvref_t<Out>>;
template <class Out>
concept has_unwritable_elements = std::is_const_v<element_of<Out>> || !std::is_trivially_copyable_v<element_of<Out>>;
template <class Out, class Callable>
concept combines_other_elements =
    byte_container<std::remove_reference_t<Out>> && !std::is_convertible_v<Callable, const reduction&> &&
    !combines<std::remove_cvref_t<Callable>, element_of<Out>>;
template <class In, class Out, class Callable>
concept has_other_elements = byte_container<In> && byte_container<std::remove_reference_t<Out>> &&
                             !std::is_convertible_v<Callable, const reduction&> &&
                             !std::is_same_v<std::remove_cv_t<element_of<const In>>, std::remove_cv_t<element_of<Out>>>;
// No concept, of which a compiler would list all parts where it says that this does not hold.
template <class In, class Out, class Callable>
inline constexpr bool misfits_reduction =
    has_single_value<In, Out> || has_unwritable_elements<Out> || combines_other_elements<Out, Callable> ||
    has_other_elements<In, Out, Callable>;

/// Does not compile: names the right arguments.
template <class In, class Out, class Callable>
constexpr void refuse_misfit() noexcept {
  static_assert(!has_single_value<In, Out>,
                "a reduction is of containers of elements: for one value, write std::span{&value, 1}; for an address, "
                "std::span{address, count}");
  static_assert(
      !has_unwritable_elements<Out>,
      "the output is a container that can be written, and its elements can be copied byte by byte: not const, "
      "and std::is_trivially_copyable");
  if constexpr (!has_single_value<In, Out> && !has_unwritable_elements<Out>) {
    static_assert(!combines_other_elements<Out, Callable>,
                  "the callable does not combine two elements into one: write a callable such as std::plus<>{} or "
                  "reductions::max{}, or a lambda [](element a, element b) -> element; of other buffers than "
                  "containers, reduction::callable<element>()");
    static_assert(!has_other_elements<In, Out, Callable>,
                  "input and output have elements of different types: write two containers of one element type, or {} "
                  "for the input, which is in place");
  }
}

}  // namespace detail

/// The sizes and places of blocks, one for each member. **Buffer**: both arrays are the caller's, and must live until
/// the collective is complete.
struct blocks {
  std::span<const std::uint64_t> bytes;    ///< size of each block
  std::span<const std::uint64_t> offsets;  ///< position of each block in its buffer, in bytes
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
  persistent_collective(std::unique_ptr<coll::persistent_run> run, bool allow_backlog_full) noexcept;
  std::unique_ptr<coll::persistent_run> run_;
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
  /// Parts of it, which the library alone uses.
  struct parts {
    collective_operation operation = collective_operation::barrier;
    /// The input is `{}`, or the output of a scatter. All members of an alltoall say so, or none of them.
    bool is_inplace = false;
    std::uint32_t root = 0;
    const_buffer_ref input{};
    buffer_ref out{};
    reduction op{};
    blocks in_blocks{};
    blocks out_blocks{};
    /// Whether the blocks of a gather or scatter have sizes of their own, which the root alone names.
    bool root_has_blocks = false;
  };

  /// Starts it in `group` and waits. **Blocking**: until this member's part is complete, as `device::wait`. **Errors**:
  /// also `invalid_state` inside a handler, a hook or a node of a graph, and the error of an operation of it that
  /// failed.
  void run(group& group, const collective_options& options = {}) const;
  /// Starts it: as `persistent_collective::start`. **Buffer**: the library's until the signal. **Returns**: *posted*.
  /// **Errors**: also `backlog_full`.
  status post(group& group, completion& local, const collective_options& options = {}, void* context = nullptr) const;
  /// Awaits it in a coroutine: `co_await collective::broadcast(numbers).await(loop, all)`, which returns the record of
  /// `post`. The loop's device is to be the group's.
  template <class Loop>
  [[nodiscard]] auto await(Loop& loop, group group, const collective_options& options = {}) const {
    return loop.post([mine = *this, group = std::move(group), options](completion& local, void* context) mutable {
      return mine.post(group, local, options, context);
    });
  }
  template <class WriteLoopGroupAndMembersInOrderOf = collective_options>
  auto await(...) const = delete;  // arguments that do not fit
  /// Keeps it, so that a start need not look for anything.
  [[nodiscard]] persistent_collective keep(group& group, const collective_options& options = {}) const;

  // What a collective does. None of these touches a buffer.

  /// Complete once all members have started it.
  [[nodiscard]] static collective barrier() noexcept { return collective{collective::parts{}}; }

  /// `buffer` of member `root` to the same buffer of all.
  [[nodiscard]] static collective broadcast(buffer_ref buffer, std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::broadcast, .root = root, .input = buffer, .out = buffer}};
  }
  template <class WriteWritableBufferAndRoot = buffer_ref>
  static collective broadcast(...) = delete;  // arguments that do not fit
  /// `input` of all members combined, into `out` of all, which has as many bytes. `input` may be `{}`: in place.
  [[nodiscard]] static collective allreduce(const collective_input& input, buffer_ref out,
                                            const reduction& op) noexcept {
    return collective{{.operation = collective_operation::allreduce,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .op = op}};
  }
  /// Combines elements: `allreduce(mine, all)` adds, `allreduce({}, all, reductions::max{})` is in place.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective allreduce(detail::elements_in<detail::element_of<Out>> input, Out&& out,
                                            Callable&& function = {}) noexcept {
    return allreduce(input.input(), buffer_ref{std::forward<Out>(out)},
                     detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(function)));
  }
  /// Does not compile: names the right arguments.
  template <class In = collective_input, class Out, class Callable = std::plus<>, class... More>
  requires detail::misfits_reduction<In, Out, Callable>  //
  static collective allreduce(const In& /*input*/, Out&& /*out*/, Callable&& /*function*/ = {},
                              More&&... /*more*/) noexcept {
    detail::refuse_misfit<In, Out, Callable>();
    return collective{parts{}};
  }
  template <class WriteInputWritableOutputAndCallableOr = reduction>
  static collective allreduce(...) = delete;  // arguments that do not fit
  /// `input` of all members combined, into `out` of member `root`. In place at the root if its `input` is `{}`.
  [[nodiscard]] static collective reduce(const collective_input& input, buffer_ref out, const reduction& op,
                                         std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::reduce,
                       .is_inplace = input.is_inplace(),
                       .root = root,
                       .input = input.buffer(),
                       .out = out,
                       .op = op}};
  }
  /// Combines elements: `out` of other members than the root may be an empty container.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective reduce(detail::elements_in<detail::element_of<Out>> input, Out&& out,
                                         Callable&& function = {}, std::uint32_t root = 0) noexcept {
    return reduce(input.input(), buffer_ref{std::forward<Out>(out)},
                  detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(function)), root);
  }
  /// Does not compile: names the right arguments.
  template <class In = collective_input, class Out, class Callable = std::plus<>, class... More>
  requires detail::misfits_reduction<In, Out, Callable>  //
  static collective reduce(const In& /*input*/, Out&& /*out*/, Callable&& /*function*/ = {},
                           More&&... /*more*/) noexcept {
    detail::refuse_misfit<In, Out, Callable>();
    return collective{parts{}};
  }
  template <class WriteInputWritableOutputCallableAndRoot = reduction>
  static collective reduce(...) = delete;  // arguments that do not fit
  /// `input` of each member, one behind the other, into `out` of member `root`. In place at the root if its `input` is
  /// `{}`: its block lies in `out` already.
  [[nodiscard]] static collective gather(const collective_input& input, buffer_ref out,
                                         std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::gather,
                       .is_inplace = input.is_inplace(),
                       .root = root,
                       .input = input.buffer(),
                       .out = out}};
  }
  /// Allows blocks of different sizes. The root gives their places in `out`; the others give none.
  [[nodiscard]] static collective gather(const collective_input& input, buffer_ref out, std::uint32_t root,
                                         const blocks& lists) noexcept {
    return collective{{.operation = collective_operation::gather,
                       .is_inplace = input.is_inplace(),
                       .root = root,
                       .input = input.buffer(),
                       .out = out,
                       .out_blocks = lists,
                       .root_has_blocks = true}};
  }
  template <class WriteInputWritableOutputRootAndMembersInOrderOf = blocks>
  static collective gather(...) = delete;  // arguments that do not fit
  /// A block of `input` of member `root` into `out` of each member. In place at the root if its `out` is `{}`.
  [[nodiscard]] static collective scatter(const_buffer_ref input, const collective_output& out,
                                          std::uint32_t root = 0) noexcept {
    return collective{{.operation = collective_operation::scatter,
                       .is_inplace = out.is_inplace(),
                       .root = root,
                       .input = input,
                       .out = out.buffer()}};
  }
  /// Allows blocks of different sizes. The root gives their places in `input`; the others give none.
  [[nodiscard]] static collective scatter(const_buffer_ref input, const collective_output& out, std::uint32_t root,
                                          const blocks& lists) noexcept {
    return collective{{.operation = collective_operation::scatter,
                       .is_inplace = out.is_inplace(),
                       .root = root,
                       .input = input,
                       .out = out.buffer(),
                       .in_blocks = lists,
                       .root_has_blocks = true}};
  }
  template <class WriteInputWritableOutputRootAndMembersInOrderOf = blocks>
  static collective scatter(...) = delete;  // arguments that do not fit
  /// `input` of each member, one behind the other, into `out` of all. `input` may be `{}`: in place.
  [[nodiscard]] static collective allgather(const collective_input& input, buffer_ref out,
                                            const blocks& lists = {}) noexcept {
    return collective{{.operation = collective_operation::allgather,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .out_blocks = lists}};
  }
  template <class WriteInputWritableOutputAndMembersInOrderOf = blocks>
  static collective allgather(...) = delete;  // arguments that do not fit
  /// A block of `input` to each member, and a block of each member into `out`. In place at all members if `input` is
  /// `{}` and `sent` is none, which all members have to say alike.
  [[nodiscard]] static collective alltoall(const collective_input& input, buffer_ref out, const blocks& sent = {},
                                           const blocks& received = {}) noexcept {
    return collective{{.operation = collective_operation::alltoall,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .in_blocks = sent,
                       .out_blocks = received}};
  }
  template <class WriteInputWritableOutputAndMembersInOrderOf = blocks>
  static collective alltoall(...) = delete;  // arguments that do not fit
  /// `input` of all members combined; each gets a block of that into `out`. `input` may be `{}`: in place, and `out`
  /// has all blocks.
  [[nodiscard]] static collective reduce_scatter(const collective_input& input, buffer_ref out, const reduction& op,
                                                 const blocks& lists = {}) noexcept {
    return collective{{.operation = collective_operation::reduce_scatter,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .op = op,
                       .out_blocks = lists}};
  }
  /// Combines elements: `reduce_scatter(parts, mine)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective reduce_scatter(detail::elements_in<detail::element_of<Out>> input, Out&& out,
                                                 Callable&& function = {}, const blocks& lists = {}) noexcept {
    return reduce_scatter(input.input(), buffer_ref{std::forward<Out>(out)},
                          detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(function)), lists);
  }
  /// Does not compile: names the right arguments.
  template <class In = collective_input, class Out, class Callable = std::plus<>, class... More>
  requires detail::misfits_reduction<In, Out, Callable>  //
  static collective reduce_scatter(const In& /*input*/, Out&& /*out*/, Callable&& /*function*/ = {},
                                   More&&... /*more*/) noexcept {
    detail::refuse_misfit<In, Out, Callable>();
    return collective{parts{}};
  }
  template <class WriteInputWritableOutputCallableAndMembersInOrderOf = blocks>
  static collective reduce_scatter(...) = delete;  // arguments that do not fit
  /// `input` of members 0 to this one combined, into `out`. `input` may be `{}`: in place.
  [[nodiscard]] static collective scan(const collective_input& input, buffer_ref out, const reduction& op) noexcept {
    return collective{{.operation = collective_operation::scan,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .op = op}};
  }
  /// Combines elements: `scan(mine, sums)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective scan(detail::elements_in<detail::element_of<Out>> input, Out&& out,
                                       Callable&& function = {}) noexcept {
    return scan(input.input(), buffer_ref{std::forward<Out>(out)},
                detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(function)));
  }
  /// Does not compile: names the right arguments.
  template <class In = collective_input, class Out, class Callable = std::plus<>, class... More>
  requires detail::misfits_reduction<In, Out, Callable>  //
  static collective scan(const In& /*input*/, Out&& /*out*/, Callable&& /*function*/ = {},
                         More&&... /*more*/) noexcept {
    detail::refuse_misfit<In, Out, Callable>();
    return collective{parts{}};
  }
  template <class WriteInputWritableOutputAndCallableOr = reduction>
  static collective scan(...) = delete;  // arguments that do not fit
  /// `input` of the members below this one combined, into `out`, which member 0 leaves as it is. `input` may
  /// be `{}`: in place.
  [[nodiscard]] static collective exscan(const collective_input& input, buffer_ref out, const reduction& op) noexcept {
    return collective{{.operation = collective_operation::exscan,
                       .is_inplace = input.is_inplace(),
                       .input = input.buffer(),
                       .out = out,
                       .op = op}};
  }
  /// Combines elements: `exscan(mine, sums)` adds.
  template <class Out, class Callable = std::plus<>>
  requires detail::reduced_container<Out, Callable>  //
  [[nodiscard]] static collective exscan(detail::elements_in<detail::element_of<Out>> input, Out&& out,
                                         Callable&& function = {}) noexcept {
    return exscan(input.input(), buffer_ref{std::forward<Out>(out)},
                  detail::reduction_by<detail::element_of<Out>>(std::forward<Callable>(function)));
  }
  /// Does not compile: names the right arguments.
  template <class In = collective_input, class Out, class Callable = std::plus<>, class... More>
  requires detail::misfits_reduction<In, Out, Callable>  //
  static collective exscan(const In& /*input*/, Out&& /*out*/, Callable&& /*function*/ = {},
                           More&&... /*more*/) noexcept {
    detail::refuse_misfit<In, Out, Callable>();
    return collective{parts{}};
  }
  template <class WriteInputWritableOutputAndCallableOr = reduction>
  static collective exscan(...) = delete;  // arguments that do not fit

  /// Used by the library alone.
  explicit collective(const parts& all) noexcept : parts_{all} {}

 private:
  parts parts_;
};

}  // namespace weft
