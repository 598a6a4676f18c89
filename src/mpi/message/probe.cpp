// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/message/probe.hpp"

#include <optional>
#include <span>
#include <thread>

#include "mpi/error/error.hpp"
#include "mpi/message/tests.hpp"
#include "mpi/message/wait_for.hpp"
#include "mpi/objects/message.hpp"
#include "mpi/rank/rank_state.hpp"
#include "weft/detail/report_names.hpp"
#include "weft/device.hpp"

namespace weft::mpi {
namespace {

probe_options options_of(const communicator& comm, envelope from, bool& is_busy) noexcept {
  const bool is_any = from.tag == MPI_ANY_TAG;
  return {.tag = is_any ? 0 : static_cast<std::uint64_t>(from.tag),
          .engine = comm.engine,
          .policy = comm.policy(),
          .any_tag = is_any,
          .is_busy = &is_busy};
}

outcome outcome_of_found(const communicator& comm, std::uint32_t source, std::uint64_t tag,
                         std::uint64_t bytes) noexcept {
  return {.source = comm.member(source), .tag = static_cast<int>(tag), .bytes = bytes};
}

// Whether the message may be an older receive's that is not posted yet.
bool is_of_pending_receive(const communicator& comm, envelope from) noexcept {
  return comm.receive_peers() == 0 && comm.route.pending.receives.could_take(comm, from);
}

// Finds a message and leaves it; or matches one, and makes a handle of it. `is_busy`: it could not look.
bool peek(communicator& comm, envelope from, MPI_Status* status, bool& is_busy) {
  if (is_of_pending_receive(comm, from)) return !(is_busy = true);
  const std::optional<message_envelope> found =
      comm.route.device.peek(comm.peer_of(from.peer), options_of(comm, from, is_busy));
  if (found) write_status(status, outcome_of_found(comm, found->source, found->tag, found->bytes));
  return found.has_value();
}
bool take(rank_state& rank, communicator& comm, envelope from, MPI_Message* handle, MPI_Status* status, bool& is_busy) {
  if (is_of_pending_receive(comm, from)) return !(is_busy = true);
  std::optional<matched_message> found =
      comm.route.device.probe(comm.peer_of(from.peer), options_of(comm, from, is_busy));
  if (!found) return false;
  write_status(status, outcome_of_found(comm, found->source(), found->tag(), found->bytes()));
  *handle = handle_of(rank.messages.add(comm, std::move(*found)));
  return true;
}

// Runs `look` until it finds something. A message wakes a thread that sleeps, also if another thread receives it. No
// completion object is signalled for it, so no fiber is suspended until one is. A look that another thread, or a
// pending receive, has kept from looking ends the wait, as the thread would sleep after it.
template <class Look>
void wait_until(const communicator& comm, const char* function, Look&& look) {
  for (;;) {
    bool is_found = false, is_busy = false;
    weft::detail::wait_as(function, comm.route.device, std::span<const completion* const>{}, [&] {
      is_found = look(is_busy);
      return is_found || is_busy;
    });
    if (is_found) return;
    if (!comm.route.device.progress()) std::this_thread::yield();
  }
}

// Two looks, with progress between them.
template <class Look>
int test_by(rank_state& rank, const communicator& comm, Look&& look) {
  bool is_busy = false;
  bool is_found = look(is_busy);
  const bool has_moved = !is_found && comm.route.device.progress();
  if (!is_found) is_found = look(is_busy);
  end_test(rank, is_found, has_moved);
  return is_found ? 1 : 0;
}

int write_no_message(MPI_Message* handle, MPI_Status* status) noexcept {
  *handle = MPI_MESSAGE_NO_PROC;
  return write_no_process(status);
}

int fail_no_message() noexcept { return fail(MPI_ERR_REQUEST, "it is no message that a probe has matched"); }

void post_matched(rank_state& rank, message& message, const buffer_ref& into, request& req) {
  const weft::status answer = message.matched.receive(into, rank.signals, {.context = &req});
  if (answer.is_retry()) [[unlikely]]
    message.comm.route.pending.receives.keep(req, into, message.matched);
}

void end_message(rank_state& rank, message& message, MPI_Message* handle) noexcept {
  rank.messages.remove(message);
  *handle = MPI_MESSAGE_NULL;
}

}  // namespace

int try_probe(rank_state& rank, communicator& comm, envelope from, int* flag, MPI_Status* status) noexcept {
  return guarded([&] {
    *flag = 1;
    if (from.peer == MPI_PROC_NULL) return write_no_process(status);
    *flag = test_by(rank, comm, [&](bool& is_busy) { return peek(comm, from, status, is_busy); });
    return MPI_SUCCESS;
  });
}

int probe(rank_state& /*rank*/, communicator& comm, envelope from, MPI_Status* status) noexcept {
  return guarded([&] {
    if (from.peer == MPI_PROC_NULL) return write_no_process(status);
    wait_until(comm, "MPI_Probe", [&](bool& is_busy) { return peek(comm, from, status, is_busy); });
    return MPI_SUCCESS;
  });
}

int try_match(rank_state& rank, communicator& comm, envelope from, int* flag, MPI_Message* handle,
              MPI_Status* status) noexcept {
  return guarded([&] {
    *flag = 1;
    if (from.peer == MPI_PROC_NULL) return write_no_message(handle, status);
    *flag = test_by(rank, comm, [&](bool& is_busy) { return take(rank, comm, from, handle, status, is_busy); });
    return MPI_SUCCESS;
  });
}

int match(rank_state& rank, communicator& comm, envelope from, MPI_Message* handle, MPI_Status* status) noexcept {
  return guarded([&] {
    if (from.peer == MPI_PROC_NULL) return write_no_message(handle, status);
    wait_until(comm, "MPI_Mprobe", [&](bool& is_busy) { return take(rank, comm, from, handle, status, is_busy); });
    return MPI_SUCCESS;
  });
}

int receive_matched(rank_state& rank, const typed_buffer& into, MPI_Message* handle, MPI_Status* status) noexcept {
  if (*handle == MPI_MESSAGE_NO_PROC) {
    *handle = MPI_MESSAGE_NULL;
    return write_no_process(status);
  }
  message* const found = find_message(*handle);
  if (found == nullptr) return fail_no_message();
  return guarded([&] {
    request req{request_operation::receive, found->comm};
    post_matched(rank, *found, into.bytes(), req);
    wait_for(rank, req, "MPI_Mrecv");
    write_status(status, req.result);
    const int error = fail_of(req, req.result);
    end_message(rank, *found, handle);
    return error;
  });
}

int start_receive_matched(rank_state& rank, const typed_buffer& into, MPI_Message* handle, MPI_Request* out) noexcept {
  message* const found = find_message(*handle);
  if (found == nullptr && *handle != MPI_MESSAGE_NO_PROC) return fail_no_message();
  return guarded([&] {
    request& req = rank.requests.acquire(found != nullptr ? &found->comm : nullptr, request_operation::receive);
    return begin(rank, req, out, [&] {
      if (found == nullptr) {
        *handle = MPI_MESSAGE_NULL;
        req.finish(outcome_of_no_process);
        return MPI_SUCCESS;
      }
      const buffer_ref bytes = into.bytes();
      keep_type(req, bytes.memory(), into.type);
      req.ticket = 0;  // it is matched: too late for MPI_Cancel
      req.wanted = envelope_of(*found);
      post_matched(rank, *found, bytes, req);
      end_message(rank, *found, handle);
      return MPI_SUCCESS;
    });
  });
}

}  // namespace weft::mpi
