// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/request.hpp"

#include "mpi/error/error.hpp"
#include "mpi/error/error_classes.hpp"
#include "mpi/objects/communicator.hpp"
#include "mpi/objects/continuation.hpp"

namespace weft::mpi {
namespace {

bool is_receive(const request& req) noexcept { return req.operation == request_operation::receive; }

outcome result_of(const request& req, const weft::completion_record& record) noexcept {
  if (record.error() == errc::cancelled) return {.is_cancelled = true};
  outcome out{.error = class_of(record.error())};
  if (is_receive(req)) {
    out.source = req.comm().member(record.peer());
    out.tag = static_cast<int>(record.tag());
    out.bytes = record.error() == errc::none ? record.bytes() : record.message_bytes();
  }
  return out;
}

}  // namespace

int request_part::start(rank_state& /*rank*/, request& /*self*/) {
  return fail(MPI_ERR_REQUEST, "the request is not persistent");
}

void request::finish(const weft::completion_record& record) noexcept { finish(result_of(*this, record)); }

void request::finish(const outcome& final_result) noexcept {
  result = final_result;
  end();
}

void request::end_awaited() noexcept {
  if (waiter.is_followed()) {
    auto& self = static_cast<followed_request&>(*this);
    return self.ended(self);
  }
  const bool has_failed = result.error != MPI_SUCCESS;
  const std::uintptr_t found = waiter.end();
  // [request.finish_awaited] release -> [request.done]: the result. A thread that polls may release the request now,
  // unless a continuation is attached.
  done.store(true, std::memory_order_release);
  if (request_waiter* const waiting = waiter_slot::waiter_in(found)) waiting->note(has_failed);
  if (void* const attached = waiter_slot::continuation_in(found))
    end_request(*static_cast<continuation*>(attached), *this);
}

request* find_continuation_request(request& found) noexcept {
  if (found.kind != object_kind::continuation_request) return nullptr;
  found.owned->look(found);
  return &found;
}

int fail_request(MPI_Request handle) noexcept {
  const bool is_attached =
      !is_predefined(handle) && reinterpret_cast<const request*>(handle)->kind == object_kind::continued_request;
  return fail(MPI_ERR_REQUEST, is_attached ? "a continuation is attached to the request" : "it is no request");
}

weft::completion::answer request_signals::signal(weft::completion_record&& record) noexcept {
  static_cast<request*>(record.context())->finish(record);
  if (record.error() != errc::none) [[unlikely]]
    count_failure();
  return answer::taken;
}

void request_signals::receive(void* context, std::uint32_t source, std::uint64_t tag, std::uint64_t bytes) noexcept {
  auto& req = *static_cast<request*>(context);
  if (!req.comm().is_whole_job) [[unlikely]]
    return req.finish({.source = req.comm().member(source), .tag = static_cast<int>(tag), .bytes = bytes});
  req.result = {.source = static_cast<int>(source), .tag = static_cast<int>(tag), .bytes = bytes};
  req.end();
}

int fail_of(const request& req, const outcome& result) noexcept {
  if (result.error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  if (req.owner != nullptr) fail_in(*req.owner, result.error);
  if (result.error == MPI_ERR_TRUNCATE && is_receive(req))
    return fail(result.error, "the message of %llu bytes from rank %d with tag %d is longer than its buffer",
                static_cast<unsigned long long>(result.bytes), result.source, result.tag);
  return result.error;
}

}  // namespace weft::mpi
