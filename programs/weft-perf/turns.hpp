// How threads that share a core take turns while each of them waits for a partner that shares a core as well.
//
// Whoever looks on stands in the way of its own core's other threads; whoever gives way at once pays two changes of
// threads for each message. So a thread stays while its partner answers, which takes both of them to run at the same
// moment: it looks for as long as an answer takes, and gives way where none has come. After a number of answers it
// gives way all the same, so that the others get as much; both partners count the same answers and go together, and
// the next two meet. Who has met nobody looks for a time drawn by lot when its turn comes again: threads that go
// through the same turns in step never meet.
//
// Against 8 looks and then way, by 2, 4, 8, 16 threads of each process on 2 cores: an answer takes 0.33, 0.7 to
// 1.4, 3 to 5.5 and 9 to 17 us instead of 2.1, 4.6, 9.9 and 21. The numbers below were chosen by such runs there. After
// 64 looks without the rest, 2 and 4 threads were as fast, but some of them had a tenth of what the others had.
#pragma once

#include <cstdint>
#include <random>

namespace weft::perf {

struct turn_rules {
  std::uint32_t looks = 64;        ///< in vain, before a thread gives way; some 900 ns, an answer far away takes 700
  std::uint32_t answers = 128;     ///< in a row, after which it gives way all the same; 0: it never does
  std::uint32_t answers_more = 0;  ///< fewer than so many more, drawn by lot: partners part, and others meet
};

class turns {
 public:
  turns(const turn_rules& rules, std::uint32_t seed) : rules_{rules}, lot_{seed + 1} { begin(); }

  /// What the thread waited for has come.
  void met() {
    // A core of its own: a word that is written for each message costs as much as a third of it.
    if (rules_.answers == 0) [[likely]]
      return;
    patience_ = ++met_ < most_ ? rules_.looks : 0;
  }

  /// Whether to give way after so many looks in vain: since the thread began to wait, or gave way.
  [[nodiscard]] bool are_over(std::uint32_t vain) {
    if (vain < patience_) [[likely]]
      return false;
    begin();
    return true;
  }

 private:
  // A partner that isn't there any more leaves behind an answer or two.
  static constexpr std::uint32_t left_behind = 2;
  static constexpr std::uint32_t patience_most = 16;

  [[gnu::noinline]] void begin() {
    patience_ = rules_.looks;
    if (rules_.answers == 0) return;
    patience_ += draw(rules_.looks * (met_ > left_behind ? 1 : patience_most));
    most_ = rules_.answers + draw(rules_.answers_more);
    met_ = 0;
  }
  std::uint32_t draw(std::uint32_t below) { return below == 0 ? 0 : static_cast<std::uint32_t>(lot_() % below); }

  const turn_rules rules_;
  std::minstd_rand lot_;
  std::uint32_t patience_ = 0;  // looks in vain before the turn is over; more before its first answer
  std::uint32_t most_ = 0;      // answers of this turn
  std::uint32_t met_ = 0;
};

}  // namespace weft::perf
