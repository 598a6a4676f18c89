// SPDX-License-Identifier: BSD-3-Clause
// Termination: the members of a group find out that none of them has work and that no message with work is under way.
//
// Cost: a count is a load and a store in a cache line of the calling thread. While all members wait and a message is
// under way, they add up their counts again and again, in waves: allreduces of 24 bytes. After the last piece of work
// two waves suffice. A member between `begin_work` and `end_work` joins no wave, and the other members wait for it.
#pragma once

#include <cstdint>
#include <memory>

#include "weft/completion.hpp"
#include "weft/detail/work_counts.hpp"
#include "weft/group.hpp"
#include "weft/status.hpp"
#include "weft/wait.hpp"

namespace weft {

namespace coll {
class termination_state;
}

// Both compilers warn of deprecated fields also where they make a constructor of the struct.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Options of `termination`.
struct termination_options {
  /// The device, a shared one, through which the members add up their counts: of one number at all members. Null: the
  /// group's device.
  weft::device* device = nullptr;
  /// The old name of `device`.
  [[deprecated("use device")]] weft::device* through = nullptr;
};

#pragma GCC diagnostic pop

/// Counts pieces of work, and finds the end: the moment when no member of a group has a piece of work left. Most pieces
/// are messages: the sender counts one by `sent` before it posts it; the target counts it by `handled` after it has
/// counted all messages that it sends because of it. `begin_work` and `end_work` count work without a message. Messages
/// may go between any members, by any operation and through any device.
///
/// Each member first counts its initial work. Then it waits for the end, by `post`, `await`, `wait` or `test`; members
/// may use different ones. From then on it counts new pieces only as part of a piece that is not done, such as in the
/// handler of a message before it calls `handled`. The end is found at all members, exactly when every piece that was
/// begun is done: no clock decides, and messages may overtake each other. Afterwards the members may begin new work
/// with this object; a member may receive and handle messages of that before it has counted work of its own.
///
/// If more pieces are done than were begun, all members get the error `invalid_state`, unless another mistake makes up
/// for it. If fewer are done, the end is never found: compare `pieces_begun` and `pieces_done` of all members.
///
/// **Blocking**: never, unless the function says otherwise. **Threads**: functions that count: any, also in handlers,
/// and concurrently with all others. Other functions: one thread at a time. **Lifetime**: the group's device and the
/// runtime must outlive it. **Source**: mattern1987, the four counter method.
class termination {
 public:
  /// Collective over `over`, which may be destroyed afterwards: one `dup`. **Blocking**, **Threads** and **Errors**: as
  /// for `group::dup`.
  explicit termination(group& over, const termination_options& options = {});
  template <class WriteGroupAndMembersInOrderOf = termination_options>
  explicit termination(...) = delete;  // write a group, and members of termination_options in their order
  /// If the end is awaited, gives it up: the completion object is not signalled; other members that wait get an error
  /// or wait until this rank ends. **Blocking**: until a signal returns that another thread gives. **Errors**: inside a
  /// handler, a hook or a node of a graph the process ends with a message.
  ~termination();
  termination(const termination&) = delete;
  termination& operator=(const termination&) = delete;

  /// Counts messages that this rank posts afterwards, to any member. **Errors**: none.
  void sent(std::uint64_t messages = 1) noexcept { counts_.add_begun(messages); }
  /// Counts messages that this rank has received, after all work that they caused is done or counted. **Errors**: none.
  void handled(std::uint64_t messages = 1) noexcept { counts_.add_done(messages); }
  /// Begins a piece of work without a message. Until its end this rank joins no wave. **Errors**: none.
  void begin_work() noexcept;
  /// Ends a piece that `begin_work` began, in this thread or another. **Threads**: any that may post on the group's
  /// device. **Errors**: `invalid_state` if no piece is left that `begin_work` began.
  void end_work();

  /// Waits for the end without blocking: then `local` is signalled once, with a record of `operation::graph` that has
  /// `context` and an error. Progress on the device, by any thread, drives the waves. **Buffer**: `local` must live
  /// until it is signalled or this object is destroyed. **Returns**: *posted*. **Errors**: `invalid_state` if the end
  /// is awaited already, and after a miscount; `invalid_argument` for an object of another runtime; `peer_failed` if a
  /// member has ended. In the record: `invalid_state` for a miscount; `peer_failed` if a member ends.
  status post(completion& local, void* context = nullptr);
  /// Awaits the end in a coroutine: `co_await counts.await(loop)`, which returns the record of `post`. The loop makes
  /// progress on the group's device. **Errors**: those of `post`.
  template <class Loop>
  [[nodiscard]] auto await(Loop& loop) {
    return loop.post([this](completion& local, void* context) { return post(local, context); });
  }
  /// Waits for the end. **Blocking**: until then, as `device::wait`: it makes progress on the group's device, and
  /// suspends a fiber. **Returns**: false at a limit of `options`; the end is still awaited then, by the next `wait` or
  /// `test`. **Errors**: those of `post` and of its record; `invalid_state` inside a handler, a hook or a node of a
  /// graph.
  bool wait(const wait_options& options = {});
  /// Asks whether the end is found: for a loop that calls it whenever it finds nothing to do. Makes progress on the
  /// group's device once. This rank joins waves during the call only. **Returns**: true at the end, once; a later call
  /// waits for the next end. **Errors**: those of `wait`.
  [[nodiscard]] bool test();

  /// The pieces that this rank has counted by `sent` and `begin_work`. **Threads**: any. **Errors**: none.
  [[nodiscard]] std::uint64_t pieces_begun() const noexcept { return counts_.begun(); }
  /// The pieces that this rank has counted by `handled` and `end_work`. **Threads**: any. **Errors**: none.
  [[nodiscard]] std::uint64_t pieces_done() const noexcept { return counts_.done(); }

 private:
  detail::work_counts counts_;
  std::unique_ptr<coll::termination_state> state_;
};

}  // namespace weft
