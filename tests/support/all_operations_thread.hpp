// SPDX-License-Identifier: BSD-3-Clause
// One thread's part of a run of all operations: makes the posts of the script, and checks arrivals meanwhile.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "support/all_operations_receiver.hpp"

namespace weft::test::all_operations {

class worker {
 public:
  worker(rank_state& rank, device& dev, std::uint32_t thread);

  /// All operations, and then until everything of this rank has come.
  void run();
  [[nodiscard]] const all_operations_summary& counts() const noexcept { return counts_; }

 private:
  // A place at a peer that only this thread puts into.
  struct slot {
    const plan* last = nullptr;  // the last put into it
    bool undelivered = false;    // a flush is needed before anybody may count on it
    std::uint32_t puts = 0;      // under way
    std::uint32_t gets = 0;
  };
  struct word {
    std::uint64_t value = 0;
    bool is_busy = false;
  };
  // A post under way.
  struct outgoing {
    const plan* planned;
    operation kind;
    std::vector<std::byte> bytes;
    std::array<const_buffer_ref, 3> pieces;
    slot* position = nullptr;
    const plan* got = nullptr;  // the put that a get is to find, and from which byte on
    std::size_t got_from = 0;
    std::size_t got_bytes = 0;
    word* changed = nullptr;
    std::uint64_t old = 0;  // the value that it should have found there
    alignas(8) std::uint64_t result = 0;
  };

  void step(const plan& planned);
  void send_am(const plan& planned);
  void send(const plan& planned);
  void put(const plan& planned);
  void get(const plan& planned);
  void own_atomic(const plan& planned);
  void shared_atomic(const plan& planned);
  void flush(const plan& planned, bool everybody);
  /// Waits until no operation is under way that a put into, or a get from, the slot must not meet.
  slot& use_slot(const plan& planned, bool is_put);

  [[nodiscard]] std::unique_ptr<outgoing> make(const plan& planned, operation kind, bool filled) const;
  /// Posts by `once`, a function of the message, until it is taken.
  template <class Post>
  void post(std::unique_ptr<outgoing> made, Post once);
  void finish(outgoing& message);
  void check_got(const outgoing& message) const;

  template <class Condition>
  void until(const plan* planned, const char* description, Condition done);
  void serve();
  void take_signals();
  void give_back_oldest();

  [[nodiscard]] slot& slot_of(std::uint32_t peer, std::uint32_t region, std::uint32_t index) noexcept {
    return slots_[(std::size_t{peer} * 2 + region) * script::slots + index];
  }
  [[nodiscard]] std::uint32_t peers() const noexcept { return rank_.plans().ranks(); }

  rank_state& rank_;
  device& dev_;
  std::uint32_t thread_;
  all_operations_summary counts_;
  dice random_;
  receiver receiver_;
  completion_queue completed_;
  std::unordered_map<const outgoing*, std::unique_ptr<outgoing>> pending_;
  std::vector<slot> slots_;
  std::vector<word> words_;
  std::deque<completion_record> kept_;
  std::deque<const plan*> to_tell_;  // puts with signals whose senders may use the place again
};

}  // namespace weft::test::all_operations
