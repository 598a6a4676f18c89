// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/pending_receives.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "mpi/error/error.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/post_receive.hpp"
#include "weft/matched_message.hpp"

namespace weft::mpi {

/// A receive for the request of the program. That one ends when this is complete and the ticket is noted there: before,
/// another thread could complete it, and use it again.
struct pending_receive final : followed_request {
  pending_receive(request& requested, const buffer_ref& buffer, envelope source) noexcept
      : whole{requested}, into{buffer}, from{source} {
    operation = request_operation::receive;
    owner = whole.owner;
    ended = [](followed_request& self) noexcept { static_cast<pending_receive&>(self).end_part(); };
  }

  void end_part() noexcept {
    // [pending_receive.end] acq_rel <-> [pending_receive.end]: the result, and the ticket.
    if (open.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    const std::unique_ptr<pending_receive> self{this};
    whole.finish(result);
  }

  request& whole;
  buffer_ref into;
  envelope from;
  std::optional<weft::matched_message> matched{};
  pending_receive* behind = nullptr;
  std::atomic<int> open{2};  // the post, and the operation
};

namespace {

bool are_alike(int left, int right, int any) noexcept { return left == right || left == any || right == any; }

bool is_overlap(envelope left, envelope right) noexcept {
  return are_alike(left.peer, right.peer, MPI_ANY_SOURCE) && are_alike(left.tag, right.tag, MPI_ANY_TAG);
}

bool could_take_message_of(const pending_receive& older, const communicator& comm, envelope wanted) noexcept {
  return !older.matched && &older.comm() == &comm && is_overlap(older.from, wanted);
}

// Receives that a call of the hook has left, up to a number at which it ends.
class left_receives {
 public:
  [[nodiscard]] bool have_older(const pending_receive& receive) const noexcept {
    for (const pending_receive* const each : std::span{all_}.first(count_)) {
      if (could_take_message_of(*each, receive.comm(), receive.from)) return true;
    }
    return false;
  }
  void add(const pending_receive& left) noexcept { all_[count_++] = &left; }
  [[nodiscard]] bool are_many() const noexcept { return count_ == all_.size(); }

 private:
  std::array<const pending_receive*, 16> all_{};
  std::size_t count_ = 0;
};

}  // namespace

void pending_receives::post_or_keep(request& req, buffer_ref into, envelope from) {
  if (req.comm().receive_peers() != 0) {
    // Where another thread has the lock of the engine, it posts the receive. Else no operation is free.
    try {
      req.ticket = try_post_receive(device_, signals_, req, into, from, false).ticket();
      return;
    } catch (const weft::error& refused) {
      if (refused.code() != errc::backlog_full) throw;
    }
  }
  add(*std::make_unique<pending_receive>(req, into, from).release());
}

void pending_receives::keep(request& req, buffer_ref into, weft::matched_message& matched) {
  auto made = std::make_unique<pending_receive>(req, into, envelope{MPI_ANY_SOURCE, MPI_ANY_TAG});
  made->matched.emplace(std::move(matched));
  add(*made.release());
}

void pending_receives::add(pending_receive& added) {
  bool needs_hook = false;
  {
    const std::lock_guard locked{mutex_};
    *end_ = &added;
    end_ = &added.behind;
    if (!added.matched && added.comm().route.pending_receive_count++ == 0) {
      // [locked] Other threads' receives have no order with this one.
      added.comm().route.receive_peers.store(0, std::memory_order_relaxed);
    }
    // [locked]
    count_.fetch_add(1, std::memory_order_relaxed);
    needs_hook = !std::exchange(has_hook_, true);
  }
  if (needs_hook) {
    const std::lock_guard locked{hook_mutex_};
    hook_ = device_.add_hook([this] { return post_all(); });
  }
}

void pending_receives::unlink(pending_receive*& link) noexcept {
  pending_receive& gone = *link;
  if (end_ == &gone.behind) end_ = &link;
  link = gone.behind;
  if (!gone.matched && --gone.comm().route.pending_receive_count == 0) {
    // [pending_receives.open] release -> [communicator.receive]: the posts of the receives that were kept.
    gone.comm().route.receive_peers.store(gone.comm().size, std::memory_order_release);
  }
  // [pending_receives.posted] release -> [pending_receives.empty]: tickets.
  count_.fetch_sub(1, std::memory_order_release);
}

hook_answer pending_receives::post_all() noexcept {
  const std::lock_guard locked{mutex_};
  left_receives left;
  bool has_posted = false;
  for (pending_receive** link = &first_; *link != nullptr && !left.are_many();) {
    pending_receive& each = **link;
    status answer = status::retry(shortage::receives);
    const int error = guarded([&] {
      if (each.matched) {
        answer = each.matched->receive(each.into, signals_, {.context = &each});
      } else if (!left.have_older(each)) {
        answer = try_post_receive(device_, signals_, each, each.into, each.from);
      }
      return MPI_SUCCESS;
    });
    if (error == MPI_SUCCESS && answer.is_retry()) {
      left.add(each);
      link = &each.behind;
      continue;
    }
    has_posted = true;
    if (!each.matched) each.whole.ticket = answer.ticket();
    unlink(*link);
    if (error != MPI_SUCCESS) {
      each.finish(outcome{.error = error});
      signals_.count_failure();
    }
    each.end_part();
  }
  if (has_posted) signals_.wake();  // some may be complete: another thread than that of this hook may sleep until then
  if (first_ != nullptr) return has_posted ? hook_answer::progress : hook_answer::no_progress;
  has_hook_ = false;
  return hook_answer::done;
}

void pending_receives::end_cancelled(pending_receive& unlinked) noexcept {
  unlinked.finish(outcome{.is_cancelled = true});
  unlinked.end_part();
  signals_.wake();
}

bool pending_receives::cancel(const request& req) noexcept {
  pending_receive* found = nullptr;
  {
    const std::lock_guard locked{mutex_};
    for (pending_receive** link = &first_; *link != nullptr && found == nullptr;) {
      if (&(*link)->whole == &req && !(*link)->matched) {
        found = *link;
        unlink(*link);
      } else {
        link = &(*link)->behind;
      }
    }
  }
  if (found != nullptr) end_cancelled(*found);
  return found != nullptr;
}

void pending_receives::cancel_all() noexcept {
  for (;;) {
    pending_receive* found = nullptr;
    {
      const std::lock_guard locked{mutex_};
      if (first_ == nullptr) return;
      found = first_;
      unlink(first_);
    }
    end_cancelled(*found);
  }
}

bool pending_receives::could_take(const communicator& comm, envelope wanted) noexcept {
  const std::lock_guard locked{mutex_};
  for (const pending_receive* each = first_; each != nullptr; each = each->behind) {
    if (could_take_message_of(*each, comm, wanted)) return true;
  }
  return false;
}

}  // namespace weft::mpi
