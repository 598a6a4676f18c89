// SPDX-License-Identifier: BSD-3-Clause
// Ranks as threads of one process: one table behind a mutex, and a barrier that names who is missing.
#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "boot/backends.hpp"
#include "weft/error.hpp"

namespace weft::boot {
namespace {

class local_board {
 public:
  local_board(std::uint32_t ranks, std::chrono::milliseconds timeout) : arrived_(ranks, false), timeout_{timeout} {}

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(arrived_.size()); }

  // False if the key is there already.
  bool put(std::uint32_t rank, std::string_view key, std::string_view bytes) {
    const std::lock_guard lock{mutex_};
    const std::pair full_key{rank, std::string{key}};
    return !published_.contains(full_key) && staged_.emplace(full_key, bytes).second;
  }

  bool get(std::uint32_t rank, std::string_view key, std::string& bytes) {
    const std::lock_guard lock{mutex_};
    const auto found = published_.find({rank, std::string{key}});
    if (found == published_.end()) return false;
    bytes = found->second;
    return true;
  }

  void fence(std::uint32_t rank) {
    std::unique_lock lock{mutex_};
    if (broken_) fail(rank, lost_);
    if (arrived_[rank]) {
      throw error{errc::invalid_state, fmt::format("bootstrap local: rank {} is in a fence already", rank)};
    }
    arrived_[rank] = true;
    if (++count_ == arrived_.size()) return open();
    const std::uint64_t round = round_;
    const auto over = [&] { return round_ != round || broken_; };
    const base::clock::time_point deadline = base::clock::now() + timeout_;
    while (!over() && base::clock::now() < deadline) moved_.wait_for(lock, base::clock::left_to_sleep(deadline));
    if (!over()) {
      broken_ = true;
      for (std::uint32_t r = 0; r < size(); ++r) {
        if (!arrived_[r]) lost_.push_back(r);
      }
      moved_.notify_all();
    }
    if (round_ == round) fail(rank, lost_);
  }

 private:
  using table = std::map<std::pair<std::uint32_t, std::string>, std::string>;

  void open() {
    published_.merge(staged_);
    arrived_.assign(arrived_.size(), false);
    count_ = 0;
    ++round_;
    moved_.notify_all();
  }

  [[noreturn]] void fail(std::uint32_t rank, const std::vector<std::uint32_t>& missing) const {
    throw error{errc::boot_failed,
                fmt::format("bootstrap local: rank {} of {} waited {} ms in a fence for ranks {}; have all threads of "
                            "the job made their runtime? (WEFT_BOOT_TIMEOUT_S is the bound)",
                            rank, size(), timeout_.count(), list_of_ranks(missing))};
  }

  std::mutex mutex_;
  std::condition_variable moved_;
  table staged_;
  table published_;
  std::vector<bool> arrived_;
  std::vector<std::uint32_t> lost_;
  std::size_t count_ = 0;
  std::uint64_t round_ = 0;
  bool broken_ = false;
  std::chrono::milliseconds timeout_;
};

class local final : public bootstrap {
 public:
  local(std::shared_ptr<local_board> board, std::uint32_t rank) : board_{std::move(board)}, rank_{rank} {}

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return board_->size(); }
  const char* name() const noexcept override { return "local"; }

  void put(std::string_view key, std::string_view bytes) override {
    check_value(key, bytes);
    if (!board_->put(rank_, key, bytes)) throw_put_twice(*this, key);
  }

  std::string get(std::uint32_t rank, std::string_view key) override {
    check_rank(rank, size());
    check_key(key);
    std::string bytes;
    if (!board_->get(rank, key, bytes)) throw_no_value(*this, rank, key);
    return bytes;
  }

  void fence() override { board_->fence(rank_); }

 private:
  std::shared_ptr<local_board> board_;
  std::uint32_t rank_;
};

}  // namespace

std::vector<std::shared_ptr<bootstrap>> make_local_job(std::uint32_t ranks, std::chrono::milliseconds timeout) {
  if (ranks == 0) throw error{errc::invalid_argument, "make_local_job: a job has at least one rank"};
  const auto board = std::make_shared<local_board>(ranks, timeout);
  std::vector<std::shared_ptr<bootstrap>> job;
  job.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) job.push_back(std::make_shared<local>(board, rank));
  return job;
}

std::vector<std::shared_ptr<bootstrap>> make_local_job(std::uint32_t ranks) {
  return make_local_job(ranks, std::chrono::seconds{base::process_settings().boot_timeout_s});
}

}  // namespace weft::boot
