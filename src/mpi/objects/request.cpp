#include "mpi/objects/request.hpp"

#include <utility>

#include "mpi/objects/communicator.hpp"
#include "mpi/objects/error.hpp"

namespace weft::mpi {
namespace {

constexpr std::size_t block_requests = 64;

}  // namespace

void request::finish(const weft::completion_record& record) noexcept {
  outcome found{.error = class_of(record.error())};
  found.is_cancelled = record.error() == errc::cancelled;
  if (found.is_cancelled) found.error = MPI_SUCCESS;
  if (is_receive && !found.is_cancelled) {
    found.source = of->member(record.peer());
    found.tag = static_cast<int>(record.tag());
    found.bytes = record.error() == errc::none ? record.bytes() : record.message_bytes();
  }
  finish(found);
}

weft::completion::answer request_signals::signal(weft::completion_record&& record) noexcept {
  static_cast<request*>(record.context())->finish(record);
  return answer::taken;
}

std::unique_lock<std::mutex> request_pool::lock() {
  return is_shared_ ? std::unique_lock{mutex_} : std::unique_lock<std::mutex>{};
}

void request_pool::grow() {
  blocks_.push_back(std::make_unique<request[]>(block_requests));
  for (std::size_t index = 0; index < block_requests; ++index) {
    request& one = blocks_.back()[index];
    one.next = std::exchange(free_, &one);
  }
}

request& request_pool::acquire(communicator& of, bool is_receive) {
  const auto locked = lock();
  if (free_ == nullptr) grow();
  request& out = *free_;
  free_ = out.next;
  out.kind = object_kind::request;
  // [own] No other thread has it yet.
  out.done.store(false, std::memory_order_relaxed);
  out.is_receive = is_receive;
  out.of = &of;
  out.next = nullptr;
  return out;
}

void request_pool::release(request& one) noexcept {
  const auto locked = lock();
  one.kind = object_kind::freed;
  one.next = std::exchange(free_, &one);
}

request* find_request(MPI_Request handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<request*>(handle);
  return found->kind == object_kind::request ? found : nullptr;
}

void write_status(MPI_Status* to, const outcome& from) noexcept {
  if (to == MPI_STATUS_IGNORE) return;
  // Five words are the library's: the bytes are in two of them, and whether the operation was cancelled in a third.
  to->MPI_SOURCE = from.source;
  to->MPI_TAG = from.tag;
  to->MPI_internal[0] = static_cast<int>(from.bytes & 0xffff'ffff);
  to->MPI_internal[1] = static_cast<int>(from.bytes >> 32);
  to->MPI_internal[2] = from.is_cancelled ? 1 : 0;
}

int write_no_process(MPI_Status* to) noexcept {
  write_status(to, outcome_of_no_process);
  return MPI_SUCCESS;
}

std::uint64_t bytes_of(const MPI_Status& of) noexcept {
  return static_cast<std::uint32_t>(of.MPI_internal[0]) |
         static_cast<std::uint64_t>(static_cast<std::uint32_t>(of.MPI_internal[1])) << 32;
}

}  // namespace weft::mpi
