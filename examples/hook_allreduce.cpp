// The largest value of all ranks, found by a hook: each call of progress, for whatever reason, moves it on. In round r
// a rank sends the largest value it knows to the rank 2^r after it, and receives one from the rank 2^r before it
// (zhou2024, 4.7). Values may be met twice, which changes a sum, and no maximum.
#include <algorithm>
#include <cstdio>
#include <span>

#include <weft/weft.hpp>

class maximum {
 public:
  maximum(weft::device& dev, std::uint64_t mine)
      : known_{mine}, heard_{dev.runtime()}, told_{dev.runtime()}, step_{dev.add_hook([this](weft::device& caller) {
          return go_on(caller);
        })} {}
  bool is_known() const { return step_.is_over(); }
  std::uint64_t value() const { return known_; }

 private:
  enum class phase { receive, send, wait };

  // Called by progress until it is done; never waits, and comes back where a post answers retry.
  weft::hook_answer go_on(weft::device& dev) {
    const std::uint32_t size = dev.runtime().size(), rank = dev.runtime().rank();
    if (distance_ >= size) return weft::hook_answer::done;
    if (phase_ == phase::receive) {
      const std::uint32_t from = (rank + size - distance_) % size;
      if (dev.post_recv(from, std::span{&received_, 1}, heard_, {.tag = distance_}).is_retry()) return waiting_;
      phase_ = phase::send;
    }
    if (phase_ == phase::send) {
      const std::uint32_t to = (rank + distance_) % size;
      if (dev.post_send(to, std::span{&known_, 1}, told_, {.tag = distance_}).is_retry()) return waiting_;
      phase_ = phase::wait;
    }
    if (heard_.value() <= rounds_) return waiting_;
    known_ = std::max(known_, received_);
    ++rounds_;
    distance_ *= 2;
    phase_ = phase::receive;
    return distance_ < size ? weft::hook_answer::progress : weft::hook_answer::done;
  }

  static constexpr weft::hook_answer waiting_ = weft::hook_answer::no_progress;
  std::uint64_t known_, received_ = 0, rounds_ = 0;
  std::uint32_t distance_ = 1;
  phase phase_ = phase::receive;
  weft::counter heard_, told_;
  weft::hook step_;
};

int main() {
  weft::runtime rt;
  maximum largest{rt.default_device(), std::uint64_t{rt.rank()} * 10};
  while (!largest.is_known()) rt.default_device().progress();
  std::printf("rank %u: the largest is %llu\n", rt.rank(), static_cast<unsigned long long>(largest.value()));
  rt.barrier();
  return largest.value() == (rt.size() - 1) * 10 ? 0 : 1;
}
