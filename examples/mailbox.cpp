// A completion object of one's own: a mailbox with room for one message. While it is full, senders are held back.
#include <atomic>
#include <cstdio>
#include <optional>

#include <weft/weft.hpp>

class mailbox final : public weft::completion {
 public:
  explicit mailbox(weft::runtime& owner) : completion{owner} {}

  // Any thread that makes progress may call this, several at once. It may not wait, and it may not throw.
  answer signal(weft::completion_record&& record) noexcept override {
    state expected = state::empty;
    // [mailbox.claim] acquire <- [mailbox.empty]: the letter before has been taken out.
    if (!state_.compare_exchange_strong(expected, state::filling, std::memory_order_acquire)) return answer::full;
    letter_.emplace(std::move(record));  // the letter owns the message's bytes now
    // [mailbox.fill] release -> [mailbox.look]: the letter.
    state_.store(state::full, std::memory_order_release);
    return answer::taken;
  }

  std::optional<weft::completion_record> take() {  // one thread calls it
    // [mailbox.look] acquire <- [mailbox.fill]: the letter.
    if (state_.load(std::memory_order_acquire) != state::full) return std::nullopt;
    std::optional<weft::completion_record> out{std::move(letter_)};
    letter_.reset();
    // [mailbox.empty] release -> [mailbox.claim]: the letter is out.
    state_.store(state::empty, std::memory_order_release);
    return out;
  }

 private:
  enum class state : std::uint8_t { empty, filling, full };
  std::atomic<state> state_{state::empty};
  std::optional<weft::completion_record> letter_;
};

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  mailbox box{rt};
  weft::counter sent{rt};
  const auto arrivals = rt.register_completion(box, {.id = 1});

  constexpr unsigned letters = 1000;  // more than fit on the way
  unsigned posted = 0, received = 0, held_back = 0, sum = 0;
  while (posted < letters || received < letters) {
    while (posted < letters && !dev.post_am((rt.rank() + 1) % rt.size(), {1}, {}, sent, {.tag = posted}).is_retry()) {
      ++posted;
    }
    held_back += posted < letters;
    dev.progress();
    for (; const auto letter = box.take(); ++received) sum += static_cast<unsigned>(letter->tag());
  }
  std::printf("rank %u: %u letters came; %u posts were answered with retry\n", rt.rank(), received, held_back);
  rt.barrier();
  return sum == letters * (letters - 1) / 2 ? 0 : 1;
}
