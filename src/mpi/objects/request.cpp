// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/objects/request.hpp"

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/error.hpp"

namespace weft::mpi {
namespace {

bool is_receive(const request& one) noexcept {
  return one.operation == request_operation::receive || one.operation == request_operation::followed_receive;
}

outcome result_of(const request& one, const weft::completion_record& record) noexcept {
  if (record.error() == errc::cancelled) return {.is_cancelled = true};
  outcome out{.error = class_of(record.error())};
  if (is_receive(one)) {
    out.source = one.of->member(record.peer());
    out.tag = static_cast<int>(record.tag());
    out.bytes = record.error() == errc::none ? record.bytes() : record.message_bytes();
  }
  return out;
}

}  // namespace

int request_part::start(rank_state& /*rank*/, request& /*of*/) {
  return fail(MPI_ERR_REQUEST, "the request is not persistent");
}

void request::finish(const weft::completion_record& record) noexcept { finish(result_of(*this, record)); }

void request::finish(const outcome& with) noexcept {
  result = with;
  end();
}

weft::completion::answer request_signals::signal(weft::completion_record&& record) noexcept {
  static_cast<request*>(record.context())->finish(record);
  if (record.error() != errc::none) [[unlikely]]
    count_failure();
  return answer::taken;
}

void request_signals::receive(void* context, std::uint32_t source, std::uint64_t tag, std::uint64_t bytes) noexcept {
  auto& one = *static_cast<request*>(context);
  if (!one.of->is_whole_job) [[unlikely]]
    return one.finish({.source = one.of->member(source), .tag = static_cast<int>(tag), .bytes = bytes});
  one.result = {.source = static_cast<int>(source), .tag = static_cast<int>(tag), .bytes = bytes};
  one.end();
}

int fail_of(const request& one, const outcome& with) noexcept {
  if (with.error == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  if (one.of != nullptr) fail_in(*one.of, with.error);
  if (with.error == MPI_ERR_TRUNCATE && is_receive(one))
    return fail(with.error, "the message of %llu bytes from rank %d with tag %d is longer than its buffer",
                static_cast<unsigned long long>(with.bytes), with.source, with.tag);
  return with.error;
}

}  // namespace weft::mpi
