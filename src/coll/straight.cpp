#include "coll/straight.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <exception>
#include <utility>

#include "coll/failed_message.hpp"
#include "coll/ranks.hpp"
#include "weft/counter.hpp"
#include "weft/detail/raw_record.hpp"
#include "weft/device.hpp"
#include "weft/error.hpp"

namespace weft::coll::straight {

namespace {

constexpr std::size_t bytes_max = detail::inline_bytes_max;
struct alignas(std::max_align_t) element_room : std::array<std::byte, bytes_max> {};

// The messages of one collective. Sends go first: they travel while the receive is posted.
class messages {
 public:
  explicit messages(group_state& in)
      : in_{in},
        arrived_{in.arrived()},
        tag_{in.tags().take()},
        awaited_{arrived_.value()},
        failed_{arrived_.failed()} {}

  // If an exception leaves the collective, its receives are taken back before their buffers go.
  ~messages() {
    while (arrived_.value() < awaited_) {
      for (std::uint32_t i = 0; i < expected_; ++i) static_cast<void>(in_.through().cancel(tickets_[i]));
      in_.through().progress();
    }
  }
  messages(const messages&) = delete;
  messages& operator=(const messages&) = delete;

  // A receive that `wait` waits for, with all others since the last wait: at most `linear_members_max` of them.
  void expect(std::uint32_t member, std::uint32_t label, void* into, std::size_t bytes) {
    device& through = in_.through();
    const std::uint32_t peer = in_.world_rank(member);
    try {
      for (;;) {
        const status answer =
            through.post_recv(peer, buffer_ref{into, bytes}, arrived_, {.tag = tag_ | label, .engine = in_.engine()});
        if (!answer.is_retry()) {
          tickets_[expected_++] = answer.ticket();
          break;
        }
        through.progress();
      }
    } catch (...) {
      return fail(std::current_exception());
    }
    ++awaited_;
  }
  void send(std::uint32_t member, std::uint32_t label, const void* from, std::size_t bytes) {
    if (failure_ != nullptr) [[unlikely]]
      return post(member, label, failed_message(bytes));
    post(member, label, const_buffer_ref{from, bytes});
  }
  void wait() {
    device& through = in_.through();
    for (std::uint32_t i = 0; i < in_.settings().polls_before_wait && arrived_.value() < awaited_; ++i)
      through.progress();
    if (arrived_.value() < awaited_) through.wait(arrived_, awaited_);
    expected_ = 0;
    if (arrived_.failed() != failed_) [[unlikely]] {
      fail(std::make_exception_ptr(
          error{errc::peer_failed,
                "a collective: the message of a member has failed, as its rank has ended, or as it "
                "has not got a message itself"}));
    }
  }

  // The other members wait for messages of this one: it sends all of them, and throws at the end.
  void fail(std::exception_ptr why) noexcept {
    if (failure_ == nullptr) failure_ = std::move(why);
  }
  [[nodiscard]] bool has_failed() const noexcept { return failure_ != nullptr; }
  void finish() const {
    if (failure_ != nullptr) [[unlikely]]
      std::rethrow_exception(failure_);
  }

 private:
  void post(std::uint32_t member, std::uint32_t label, const const_buffer_ref& bytes) {
    device& through = in_.through();
    const std::uint32_t peer = in_.world_rank(member);
    try {
      while (through.post_send(peer, bytes, arrived_, {.tag = tag_ | label, .engine = in_.engine()}).is_retry())
        through.progress();
    } catch (...) {
      fail(std::current_exception());
    }
  }

  group_state& in_;
  counter& arrived_;
  std::uint64_t tag_;
  std::uint64_t awaited_;
  std::uint64_t failed_;  // before
  std::exception_ptr failure_;
  std::uint32_t expected_ = 0;
  std::array<std::uint64_t, linear_members_max> tickets_;  // of receives since the last wait
};

// Where ranks share cores: each of the others waits once for member 0, which waits for all of them at a time.
void linear_barrier(group_state& in) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  messages all{in};
  static std::byte none;
  if (in.rank() != 0) {
    all.send(0, to_root, &none, 0);
    all.expect(0, from_root, &none, 0);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < in.size(); ++member) all.expect(member, to_root, &none, 0);
  all.wait();
  for (std::uint32_t member = 1; member < in.size(); ++member) all.send(member, from_root, &none, 0);
  all.finish();
}

void barrier(group_state& in) {
  messages all{in};
  static std::byte none;
  const std::uint32_t size = in.size();
  for (std::uint32_t round = 0; round < doublings(size); ++round) {
    const std::uint32_t distance = 1U << round;
    all.send((in.rank() + distance) % size, round, &none, 0);
    all.expect((in.rank() + size - distance) % size, round, &none, 0);
    all.wait();
  }
  all.finish();
}

void linear_broadcast(group_state& in, const shape& of, const void* from, void* into) {
  messages all{in};
  const auto bytes = static_cast<std::size_t>(of.block_bytes);
  if (of.rank != of.root) {
    all.expect(of.root, 0, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t each = 1; each < of.size; ++each) all.send(rank_of_relative(of, each), 0, from, bytes);
  all.finish();
}

void broadcast(group_state& in, const shape& of, const void* from, void* into) {
  messages all{in};
  const auto bytes = static_cast<std::size_t>(of.block_bytes);
  const std::uint32_t mine = relative_rank(of);
  const std::uint32_t lowest = mine == 0 ? std::bit_ceil(of.size) : mine & -mine;
  if (mine != 0) {
    all.expect(rank_of_relative(of, mine - lowest), 0, into, bytes);
    all.wait();
    from = into;
  }
  for (std::uint32_t bit = lowest / 2; bit != 0; bit /= 2) {
    if (mine + bit < of.size) all.send(rank_of_relative(of, mine + bit), 0, from, bytes);
  }
  all.finish();
}

// What a member has combined so far, and its exchange with others.
class combining {
 public:
  combining(messages& all, const shape& of, const reduction& how, const void* from)
      : all_{all}, bytes_{static_cast<std::size_t>(of.block_bytes)}, how_{how} {
    std::memcpy(mine_->data(), from, bytes_);
  }
  [[nodiscard]] std::byte* bytes() noexcept { return mine_->data(); }
  void take(std::uint32_t member, std::uint32_t label, bool is_lower) {
    all_.expect(member, label, theirs_->data(), bytes_);
    all_.wait();
    combine(is_lower);
  }
  void exchange(std::uint32_t member, std::uint32_t label, bool is_lower) {
    all_.send(member, label, mine_->data(), bytes_);
    all_.expect(member, label, theirs_->data(), bytes_);
    all_.wait();
    combine(is_lower);
  }

 private:
  void combine(bool is_lower) {
    if (all_.has_failed()) [[unlikely]]
      return;
    if (!is_lower) std::swap(mine_, theirs_);
    try {
      how_.combine(theirs_->data(), mine_->data(), bytes_ / how_.element_bytes, how_.context);
    } catch (...) {
      all_.fail(std::current_exception());
    }
  }

  messages& all_;
  std::size_t bytes_;
  const reduction& how_;
  std::array<element_room, 2> room_;
  element_room* mine_ = &room_[0];
  element_room* theirs_ = &room_[1];
};

// Member 0 waits for all others at a time, and combines in the order of ranks.
void linear_allreduce(group_state& in, const shape& of, const void* from, void* into, const reduction& how) {
  constexpr std::uint32_t to_root = 0, from_root = 1;
  const auto bytes = static_cast<std::size_t>(of.block_bytes);
  std::array<element_room, linear_members_max> room;
  messages all{in};
  if (of.rank != 0) {
    all.send(0, to_root, from, bytes);
    all.expect(0, from_root, into, bytes);
    all.wait();
    return all.finish();
  }
  for (std::uint32_t member = 1; member < of.size; ++member) all.expect(member, to_root, room[member].data(), bytes);
  std::memcpy(room[0].data(), from, bytes);
  all.wait();
  try {
    for (std::uint32_t member = 1; member < of.size && !all.has_failed(); ++member)
      how.combine(room[member - 1].data(), room[member].data(), bytes / how.element_bytes, how.context);
  } catch (...) {
    all.fail(std::current_exception());
  }
  const void* const result = room[of.size - 1].data();
  for (std::uint32_t member = 1; member < of.size; ++member) all.send(member, from_root, result, bytes);
  all.finish();
  std::memcpy(into, result, bytes);
}

// Ranks beyond a power of two hand what they have to a neighbour, which takes part for both.
void allreduce(group_state& in, const shape& of, const void* from, void* into, const reduction& how) {
  messages all{in};
  combining mine{all, of, how, from};
  const auto bytes = static_cast<std::size_t>(of.block_bytes);
  const std::uint32_t whole = std::bit_floor(of.size);
  const std::uint32_t rest = of.size - whole;
  const bool is_paired = of.rank < 2 * rest;
  constexpr std::uint32_t folding = 100, unfolding = 101;
  if (is_paired && of.rank % 2 == 0) {
    all.send(of.rank + 1, folding, mine.bytes(), bytes);
    all.expect(of.rank + 1, unfolding, into, bytes);
    all.wait();
    return all.finish();
  }
  if (is_paired) mine.take(of.rank - 1, folding, true);
  const std::uint32_t number = is_paired ? of.rank / 2 : of.rank - rest;
  for (std::uint32_t bit = 1, round = 0; bit < whole; bit *= 2, ++round) {
    const std::uint32_t other = number ^ bit;
    mine.exchange(other < rest ? 2 * other + 1 : other + rest, round, other < number);
  }
  if (is_paired) all.send(of.rank - 1, unfolding, mine.bytes(), bytes);
  all.finish();
  std::memcpy(into, mine.bytes(), bytes);
}

}  // namespace

bool can(const shape& of) noexcept {
  if (of.nodes != nullptr) return false;
  switch (of.operation) {
    case operation::barrier: return true;
    case operation::broadcast:
    case operation::allreduce: return of.block_bytes <= bytes_max && of.block_bytes != 0;
    default: return false;
  }
}

void run(group_state& in, const shape& of, const_buffer_ref from, buffer_ref into, const reduction& how) {
  const bool is_linear = of.is_crowded && of.size <= linear_members_max;
  if (of.operation == operation::barrier) return is_linear ? linear_barrier(in) : barrier(in);
  if (of.operation == operation::broadcast) {
    return is_linear ? linear_broadcast(in, of, from.address(), into.address())
                     : broadcast(in, of, from.address(), into.address());
  }
  const void* const own = of.is_inplace ? into.address() : from.address();
  return is_linear ? linear_allreduce(in, of, own, into.address(), how) : allreduce(in, of, own, into.address(), how);
}

}  // namespace weft::coll::straight
