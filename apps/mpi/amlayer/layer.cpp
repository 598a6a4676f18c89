// SPDX-License-Identifier: BSD-3-Clause
#include "layer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "continuations.hpp"

namespace mpi_amlayer {

namespace {

// Requests that one call tests: few, as a pool may have many that wait for long.
constexpr std::size_t tests_max = 4;

bool is_complete(MPI_Request& request) noexcept {
  int flag = 0;
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  return flag != 0;
}

}  // namespace

void request_pool::add(operation& added) {
  const std::lock_guard locked{mutex_};
  pending_.push_back(&added);
}

operation* request_pool::poll() noexcept {
  const std::unique_lock locked{mutex_, std::try_to_lock};
  if (!locked.owns_lock()) return nullptr;
  for (std::size_t left = std::min(tests_max, pending_.size()); left > 0; --left) {
    operation* const first = pending_.front();
    pending_.pop_front();
    if (is_complete(first->request_)) return first;
    pending_.push_back(first);
  }
  return nullptr;
}

// A long payload whose header has been received.
class device::incoming_payload final : public operation {
 public:
  void post(device& device, const header& head, int source) {
    head_ = head;
    source_ = source;
    if (bytes_.size() < head.bytes) bytes_.resize(head.bytes);
    MPI_Irecv(bytes_.data(), static_cast<int>(head.bytes), MPI_BYTE, device.is_any_source_ ? MPI_ANY_SOURCE : source,
              head.data_tag, device.comm_, &request_);
  }

 private:
  bool advance(device& device) noexcept override {
    device.target_.take(head_, source_, std::span{bytes_}.first(head_.bytes));
    const std::lock_guard locked{device.unused_mutex_};
    device.unused_.emplace_back(this);
    return false;
  }

  header head_{};
  int source_ = MPI_PROC_NULL;
  std::vector<std::byte> bytes_;
};

bool outgoing_message::advance(device& device) noexcept {
  if (const std::size_t bytes = std::exchange(left_bytes_, 0); bytes != 0) {
    // Messages of one tag may overtake each other there. A synchronous send ends once its receive is found, and only
    // then the tag is used again.
    const auto send = device.is_any_source_ ? MPI_Issend : MPI_Isend;
    send(payload(), static_cast<int>(bytes), MPI_BYTE, peer_, data_tag_, device.comm_, &request_);
    return true;
  }
  // [outgoing.sent] release -> [outgoing.free]: MPI has read the payload.
  is_free_.store(true, std::memory_order_release);
  return false;
}

device::device(MPI_Comm comm, int header_tag, bool is_any_source, completion_kind completion, message_target& target)
    : comm_{comm},
      header_tag_{header_tag},
      is_any_source_{is_any_source},
      completion_{completion},
      target_{target},
      home_{completion == completion_kind::continue_request ? make_home() : MPI_REQUEST_NULL} {
  post_receive();
}

device::~device() {
  if (home_ != MPI_REQUEST_NULL) {
    MPI_Wait(&home_, MPI_STATUS_IGNORE);
    MPI_Request_free(&home_);
  }
  MPI_Cancel(&receive_);
  MPI_Wait(&receive_, MPI_STATUS_IGNORE);
}

void device::post_receive() noexcept {
  MPI_Irecv(&received_, sizeof received_, MPI_BYTE, MPI_ANY_SOURCE, header_tag_, comm_, &receive_);
}

void device::send(outgoing_message& message, header sent, int peer) noexcept {
  const bool is_long = sent.bytes > short_payload_max;
  sent.data_tag = message.data_tag_;
  std::memcpy(message.bytes_.data(), &sent, sizeof sent);
  message.peer_ = peer;
  message.left_bytes_ = is_long ? sent.bytes : 0;
  // [own] until it is posted
  message.is_free_.store(false, std::memory_order_relaxed);
  const std::size_t bytes = sizeof sent + (is_long ? 0 : sent.bytes);
  MPI_Isend(message.bytes_.data(), static_cast<int>(bytes), MPI_BYTE, peer, header_tag_, comm_, &message.request_);
  follow(message, sends_);
}

void device::follow(operation& posted, request_pool& pool) noexcept {
  if (completion_ != completion_kind::poll) return leave_to_continuation(posted);
  do {
    if (!is_complete(posted.request_)) return pool.add(posted);
  } while (posted.advance(*this));
}

void device::leave_to_continuation(operation& posted) noexcept {
  posted.device_ = this;
  const auto advance = [](int /*error*/, void* data) {
    auto& complete = *static_cast<operation*>(data);
    device& mine = *complete.device_;
    if (complete.advance(mine)) mine.leave_to_continuation(complete);
    return MPI_SUCCESS;
  };
  continue_after(posted.request_, advance, &posted, home_);
}

bool device::background_work() noexcept {
  const bool has_moved = poll_headers();
  if (completion_ == completion_kind::poll) return poll_pools() || has_moved;
  if (home_ != MPI_REQUEST_NULL) test_home();
  return has_moved;
}

// When all continuations have run it is inactive, and further ones run only after a start.
void device::test_home() noexcept {
  const std::unique_lock locked{home_mutex_, std::try_to_lock};
  if (locked.owns_lock() && is_complete(home_)) MPI_Start(&home_);
}

bool device::poll_pools() noexcept {
  bool has_moved = false;
  for (request_pool* const pool : {&receives_, &sends_}) {
    operation* const complete = pool->poll();
    if (complete == nullptr) continue;
    has_moved = true;
    if (complete->advance(*this)) follow(*complete, *pool);
  }
  return has_moved;
}

bool device::poll_headers() noexcept {
  header_buffer arrived;  // as many bytes are written as were received
  int source = MPI_PROC_NULL;
  {
    const std::unique_lock locked{receive_mutex_, std::try_to_lock};
    if (!locked.owns_lock()) return false;
    MPI_Status status;
    int flag = 0, bytes = 0;
    MPI_Test(&receive_, &flag, &status);
    if (flag == 0) return false;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    std::memcpy(&arrived, &received_, static_cast<std::size_t>(bytes));
    source = status.MPI_SOURCE;
    post_receive();
  }
  if (arrived.head.bytes > short_payload_max) {
    receive_payload(arrived.head, source);
  } else {
    target_.take(arrived.head, source, std::span{arrived.payload}.first(arrived.head.bytes));
  }
  return true;
}

void device::receive_payload(const header& head, int source) {
  std::unique_ptr<incoming_payload> payload;
  {
    const std::lock_guard locked{unused_mutex_};
    if (!unused_.empty()) {
      payload = std::move(unused_.back());
      unused_.pop_back();
    }
  }
  if (payload == nullptr) payload = std::make_unique<incoming_payload>();
  incoming_payload& posted = *payload.release();  // the pool's, until `advance` gives it back
  posted.post(*this, head, source);
  follow(posted, receives_);
}

}  // namespace mpi_amlayer
