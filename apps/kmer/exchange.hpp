// SPDX-License-Identifier: BSD-3-Clause
// How the threads of all ranks talk: everything that touches Weft is in here.
//
// A participant is one thread of one rank. Within a pass any participant sends data to any other; a pass ends for a
// participant when it has received as much as was sent to it, which the others tell it (messages are not ordered).
// Between passes the participants agree: on sums, and on whether one of them failed.
#pragma once

#include <weft/weft.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kmer/options.hpp"

namespace weft_kmer {

class exchange;

/// One participant's part of an agreement.
struct statement {
  std::vector<std::uint64_t> values;  ///< at most `agreement_values_max`
  std::string failure;                ///< empty: all is well
};

/// The result of an agreement.
struct agreement {
  bool failed = false;                ///< a participant failed
  std::vector<std::uint64_t> sums;    ///< of the values of all participants, place by place
  std::vector<statement> statements;  ///< by participant; at participant 0 only
};

inline constexpr std::size_t message_bytes_max = 8192;
inline constexpr std::size_t agreement_values_max = 512;
inline constexpr std::size_t failure_bytes_max = 2048;

/// One thread's end: a device and an inbox of its own. All calls come from that thread.
class endpoint {
 public:
  /// Takes the data of a message. May not send.
  using receiver = std::function<void(std::span<const std::byte>)>;

  endpoint(exchange& owner, unsigned thread);
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  [[nodiscard]] unsigned self() const noexcept { return self_; }
  [[nodiscard]] unsigned participants() const noexcept { return static_cast<unsigned>(sent_to_.size()); }

  /// Where data goes from now on. The data of the next pass may come as soon as `agree` has been called.
  void receive_with(receiver deliver) { deliver_ = std::move(deliver); }

  /// Sends data, at most `message_bytes_max` bytes. Where there is no room it serves arrived messages until there is.
  void send(unsigned participant, std::span<const std::byte> data);

  /// Makes progress and delivers arrived messages. Returns: whether there were any.
  bool serve();

  /// Like `serve`, but gives the processor away when there was nothing to do.
  void serve_or_rest();

  /// Announces to all that no more data follows in this pass, and returns when all of them have announced it, too.
  void finish_pass();

  /// Gives its statement and returns the agreement of all. Collective: the n-th calls of all participants meet.
  [[nodiscard]] agreement agree(const statement& mine);

  /// Adds up `values` over all participants, however many there are; the sums come back in their place.
  void sum(std::span<std::uint64_t> values);

  /// Asks all participants to stop reading, as the job has failed.
  void request_stop();

  /// Tells rank 0 how much of its share this rank has read.
  void report_progress(std::uint64_t bytes_done);

  [[nodiscard]] std::uint64_t messages_sent() const noexcept { return messages_sent_; }
  [[nodiscard]] std::uint64_t bytes_sent() const noexcept { return bytes_sent_; }

 private:
  struct peer {
    std::uint32_t rank;
    std::uint32_t thread;
  };
  enum class kind : std::uint8_t;

  void post(unsigned participant, kind message_kind, std::uint64_t detail, std::span<const std::byte> data);
  void deliver(const weft::completion_record& message);
  void take_statement(unsigned participant, std::span<const std::byte> data);
  [[nodiscard]] agreement conclude();

  exchange* owner_;
  unsigned self_;
  weft::device device_;
  weft::completion_queue inbox_;
  weft::counter unused_;  // a post of a message that fits into a packet is *done*
  weft::registration registration_;
  receiver deliver_;

  std::vector<std::uint64_t> sent_to_;  // messages of data in this pass, by participant
  std::uint64_t received_ = 0;          // such messages that have arrived
  std::uint64_t announced_ = 0;         // messages that the ended ones sent here
  unsigned ended_ = 0;                  // participants that have ended this pass
  unsigned stated_ = 0;                 // participants whose statements are here (at participant 0)
  std::vector<statement> statements_;
  bool concluded_ = false;
  agreement conclusion_;
  unsigned idle_rounds_ = 0;
  std::uint64_t messages_sent_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

/// Collective over the ranks, for one thread of each. Returns: the texts that each has given, by rank, at all of them.
[[nodiscard]] std::vector<std::string> gather(weft::runtime& rt, std::string_view mine);

/// Collective as `gather`. Returns: the threads of each rank, by rank; where it wants 0 threads, as many as all can
/// have
/// (`threads_of_each`), and as are possible everywhere. Errors: job_error, on all ranks, where messages don't fit.
[[nodiscard]] std::vector<rank_threads> threads_of_all(weft::runtime& rt, rank_threads own);

/// A rank's part: the runtime and the endpoints of its threads.
class exchange {
 public:
  /// Collective over the ranks, all with `threads` threads (`check_threads`).
  exchange(weft::runtime& rt, unsigned threads);

  [[nodiscard]] unsigned rank() const noexcept { return rt_->rank(); }
  [[nodiscard]] unsigned ranks() const noexcept { return rt_->size(); }
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }
  [[nodiscard]] endpoint& at(unsigned thread) { return endpoints_[thread]; }
  [[nodiscard]] std::vector<std::string> gather(std::string_view mine) { return weft_kmer::gather(*rt_, mine); }

  /// True once anybody has failed: reading on is of no use.
  [[nodiscard]] bool stop_requested() const noexcept {
    return stop_.load(std::memory_order_relaxed);  // [hint] reading on does no harm
  }
  /// The bytes that ranks have reported as read, all together; at rank 0 only.
  [[nodiscard]] std::uint64_t progress() const noexcept;

 private:
  friend class endpoint;

  weft::runtime* rt_;
  unsigned threads_;
  std::atomic<bool> stop_{false};
  std::unique_ptr<std::atomic<std::uint64_t>[]> progress_;
  std::deque<endpoint> endpoints_;
};

}  // namespace weft_kmer
