// SPDX-License-Identifier: BSD-3-Clause
// A batch of operations, which signals another object once when all of them are complete.
//
// Cost: an end of an operation is one store and one load, ordered as one atomic exchange is, on a line that only the
// thread writes; from `close` on it reads nine lines more. The first close allocates, and one before the last end's
// object had room for its signal.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "weft/completion.hpp"
#include "weft/detail/batch_ends.hpp"
#include "weft/status.hpp"

namespace weft {

namespace core {
class end_signals;
}

/// Options of `batch::close`.
struct close_batch_options {
  void* context = nullptr;  ///< copied into the completion record
  bool allow_done = true;   ///< false: never `done`; the object is signalled even if all operations are complete
};

/// The completion object of any number of operations that end together: posts that name it, then `close`. When all of
/// them are complete, the object that `close` was given is signalled, once. Then the batch is open for the next round.
///
/// A post that answers *done* or *retry* adds nothing to it. Flushes, barriers, graphs and collectives may name it,
/// too, as all that signals its object once. A batch can't be registered for messages of peers: it counts its own
/// posts. It destroys the records of its operations; their errors are counted.
///
/// The first eight threads of the process that signal count in lines of their own, further threads in one line that
/// they share.
///
/// All functions, unless one says otherwise: **Blocking**: never. **Threads**: any thread may post; one closes, after
/// all posts, and nothing is posted from then on until the round has ended. **Errors**: none.
class batch final : public completion {
 public:
  /// Open, without operations. **Errors**: `std::bad_alloc`.
  explicit batch(weft::runtime& owner);
  template <class WriteReference = weft::runtime>
  explicit batch(...) = delete;  // write a runtime
  /// If an exception is leaving the scope of a closed batch, its object is signalled with the error `cancelled`.
  ~batch() override;

  /// Ends the posts of this round. When its operations are complete, `done` is signalled with a record of
  /// `operation::batch` that has `.context`, the first error of an operation, and as `tag()` how many failed. From that
  /// signal on the batch may be used again, or destroyed, but not destroyed inside of a handler that takes the signal.
  /// `done` must outlive the signal.
  ///
  /// **Returns**: *done* if all operations are complete already and none has failed; then `done` is not signalled. Else
  /// *posted*, with a ticket that can't be cancelled. So a graph's node, `run_loop::post` and whatever else takes a
  /// post may be a close. **Errors**: `invalid_state` if it is closed already; `invalid_argument` for an object of
  /// another runtime and for the batch itself; `std::bad_alloc`.
  status close(completion& done, const close_batch_options& options = {});
  template <class WriteMembersInOrderOf = close_batch_options>
  status close(completion&, ...) = delete;  // options that do not fit

  /// Whether operations may name it: from the beginning until `close`, and again from the end of a round on. After that
  /// the signal of the round may be yet to come. **Threads**: any.
  [[nodiscard]] bool is_open() const noexcept { return ends_.is_open(); }
  /// How many operations of the last round that has ended have failed. **Threads**: any that has seen its end.
  [[nodiscard]] std::uint64_t failed() const noexcept { return last_failed_; }
  /// The first error of an operation of the last round that has ended; `none` if none has failed. **Threads**: those
  /// that know of its end.
  [[nodiscard]] errc first_error() const noexcept { return last_error_; }

  [[nodiscard]] answer signal(completion_record&& record) noexcept override;

 private:
  void note_failure(errc why) noexcept;
  void take_outcome() noexcept;
  void end_round() noexcept;

  detail::batch_ends<> ends_;
  // Of the round that is under way; written where operations fail.
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<errc> error_{errc::none};
  // Of the last round.
  std::uint64_t last_failed_ = 0;
  errc last_error_ = errc::none;
  // Written by `close`.
  completion* done_ = nullptr;
  void* context_ = nullptr;
  std::unique_ptr<core::end_signals> signals_;
};

}  // namespace weft
