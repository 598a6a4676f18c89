// SPDX-License-Identifier: BSD-3-Clause
// Ranks that meet in a private directory. Every rank holds a lock file while it lives; rank 0 waits until all are there
// and writes the roster: the members of this job, by the random name (nonce) that each has given itself. Files that a
// crash left behind bear names that no living process holds, so they are neither believed nor kept.
//
// Two jobs in one directory: a process that finds its rank's place taken reports a conflict. Until the first fence of
// the job that it met, no rank can say which ranks belong together, so that job fails as well; afterwards only the
// newcomer does. The first rank that leaves the first fence draws the line, by a file. Ranks with different keys never
// form a job.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "boot/backends.hpp"
#include "boot/file_directory.hpp"
#include "weft/error.hpp"

namespace weft::boot {
namespace {

using base::clock;

constexpr const char* conflict_text =
    "two jobs were started in this directory at the same time; give each job one of its own";

std::string make_nonce() {
  std::uint64_t bits = 0;
  if (!base::try_fill_random(std::as_writable_bytes(std::span{&bits, 1}))) {
    throw error{errc::boot_failed, "file boot: the system gives no random numbers"};
  }
  return fmt::format("{:016x}", bits);
}

std::string lock_name(std::uint32_t rank) { return fmt::format("rank-{}.lock", rank); }

// A rank's entry about itself, in its lock file.
struct introduction {
  std::string nonce;
  std::uint32_t size = 0;
  long process = 0;
  std::string host;
  std::string key;

  [[nodiscard]] std::string text() const { return fmt::format("{} {} {} {}\n{}", nonce, size, process, host, key); }
};

std::optional<introduction> parse_introduction(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream words{*text};
  introduction result;
  if (!(words >> result.nonce >> result.size >> result.process >> result.host)) return std::nullopt;
  result.key = text->substr(std::min(text->find('\n'), text->size() - 1) + 1);
  return result;
}

// Waits between looks: short at first, since the others are mostly there already.
class patience {
 public:
  void wait() {
    std::this_thread::sleep_for(next_);
    next_ = std::min<std::chrono::microseconds>(next_ * 2, std::chrono::milliseconds{20});
  }

 private:
  std::chrono::microseconds next_{100};
};

class file_boot final : public bootstrap {
 public:
  explicit file_boot(const file_options& options)
      : rank_{options.rank},
        size_{options.size},
        timeout_{options.timeout},
        process_{::getpid()},
        directory_{options.directory},
        key_{options.key},
        nonce_{make_nonce()} {
    const auto deadline = clock::now() + timeout_;
    enter(deadline);
    try {
      if (rank_ == 0)
        assemble(deadline);
      else
        find_roster(deadline);
    } catch (...) {
      leave();
      throw;
    }
  }

  ~file_boot() override {
    if (::getpid() == process_) leave();  // not a forked child
  }

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return size_; }
  const char* name() const noexcept override { return "file"; }

  void put(std::string_view key, std::string_view bytes) override {
    check_value(key, bytes);
    const std::lock_guard lock{mutex_};
    if (!own_keys_.emplace(key, 0).second) throw_put_twice(*this, key);
    staged_ += fmt::format("{} {}\n", key, bytes.size());
    staged_ += bytes;
  }

  std::string get(std::uint32_t rank, std::string_view key) override {
    check_rank(rank, size_);
    check_key(key);
    const std::lock_guard lock{mutex_};
    peer& from = peers_[rank];
    for (; from.rounds_read < round_; ++from.rounds_read) read_round(rank, from.rounds_read);
    const auto found = from.values.find(key);
    if (found == from.values.end()) throw_no_value(*this, rank, key);
    return found->second;
  }

  void fence() override {
    const std::lock_guard lock{mutex_};
    directory_.write(round_name(round_, rank_), staged_);
    staged_.clear();
    std::vector<std::uint32_t> missing;
    for (std::uint32_t r = 0; r < size_; ++r) missing.push_back(r);
    const auto deadline = clock::now() + timeout_;
    auto look_for_dead_at = clock::now() + std::chrono::milliseconds{50};
    for (patience between;; between.wait()) {
      std::erase_if(missing, [&](std::uint32_t r) { return directory_.exists(round_name(round_, r)); });
      if (missing.empty()) break;
      const auto now = clock::now();
      if (now >= deadline) {
        fail(fmt::format("waited {} s in a fence for ranks {} (WEFT_BOOT_TIMEOUT_S is the bound)", seconds(),
                         list_of_ranks(missing)));
      }
      if (now >= look_for_dead_at) {
        look_for_dead(missing);
        look_for_dead_at = now + std::chrono::milliseconds{200};
      }
    }
    if (round_ == 0) confirm_job(deadline);
    ++round_;
  }

 private:
  struct peer {
    std::string nonce;
    std::uint64_t rounds_read = 0;
    std::map<std::string, std::string, std::less<>> values;
  };

  // Takes this rank's place, or finds it taken by another job.
  void enter(clock::time_point deadline) {
    const held_file exclusive = directory_.lock(deadline);
    const std::string name = lock_name(rank_);
    if (directory_.is_held(name)) {
      const auto other = parse_introduction(directory_.read(name)).value_or(introduction{});
      report_conflict_with(other);
      fail(
          fmt::format("this rank's place is held by process {} on {}: another job uses this directory; give each job "
                      "one of its own",
                      other.process, other.host));
    }
    if (const auto member = living_member_of_a_job()) {
      fail(fmt::format(
          "a job that this process doesn't belong to uses this directory (process {} on {} does); give each "
          "job one of its own",
          member->process, member->host));
    }
    if (rank_ == 0) remove_remains();
    directory_.remove(name);
    std::string host(256, '\0');
    ::gethostname(host.data(), host.size() - 1);
    rank_file_ = directory_.create_held(name, introduction{nonce_, size_, process_, host.c_str(), key_}.text());
  }

  // Which of two jobs that are forming would get which ranks is chance; then neither shall have them. The first rank
  // knows `other` where it still waits for ranks, and itself where it has written the roster.
  void report_conflict_with(const introduction& other) {
    const auto first = living(0);
    if (first && directory_.exists("confirmed-" + first->nonce)) return;
    directory_.write("conflict-" + other.nonce, "");
    if (first) directory_.write("conflict-" + first->nonce, "");
  }

  // Called after the first fence, before anything of this rank's job has been used.
  void confirm_job(clock::time_point deadline) {
    const held_file exclusive = directory_.lock(moments_after(deadline));
    if (directory_.exists("conflict-" + job_)) fail(conflict_text);
    directory_.write("confirmed-" + job_, "");
  }

  std::optional<introduction> living(std::uint32_t rank) const {
    const std::string name = lock_name(rank);
    if (!directory_.is_held(name)) return std::nullopt;
    return parse_introduction(directory_.read(name));
  }

  std::optional<std::string> roster_of_living_job() const {
    const auto first = living(0);
    return first ? directory_.read("roster-" + first->nonce) : std::nullopt;
  }

  std::vector<std::string> read_roster(const std::string& name) const {
    std::istringstream lines{directory_.read(name).value_or("")};
    std::vector<std::string> nonces;
    for (std::string line; std::getline(lines, line);) nonces.push_back(line);
    return nonces;
  }

  // A roster lists all ranks of a job: no newcomer is one of them. Rank 0 may have ended, and others still need its
  // values.
  std::optional<introduction> living_member_of_a_job() const {
    for (const std::string& name : directory_.list()) {
      if (!name.starts_with("roster-")) continue;
      const std::vector<std::string> nonces = read_roster(name);
      for (std::uint32_t rank = 0; rank < nonces.size(); ++rank) {
        const auto introduced = living(rank);
        if (introduced && introduced->nonce == nonces[rank]) return introduced;
      }
    }
    return std::nullopt;
  }

  // Rank 0, when its place was free: whatever rosters and values there are belong to the dead.
  void remove_remains() {
    std::vector<std::string> alive;
    const auto names = directory_.list();
    for (const std::string& name : names) {
      if (!name.starts_with("rank-") || !directory_.is_held(name)) continue;
      const auto introduced = parse_introduction(directory_.read(name)).value_or(introduction{});
      alive.push_back("conflict-" + introduced.nonce);
      alive.push_back("refused-" + introduced.nonce);
    }
    for (const std::string& name : names) {
      const bool in_use = name.starts_with("rank-") ? directory_.is_held(name)
                                                    : std::find(alive.begin(), alive.end(), name) != alive.end();
      if (is_ours(name) && !in_use) directory_.remove(name);
    }
  }

  static bool is_ours(std::string_view name) {
    return name.starts_with("rank-") || name.starts_with("roster-") || name.starts_with("round-") ||
           name.starts_with("conflict-") || name.starts_with("confirmed-") || name.starts_with("refused-");
  }

  // Every rank takes the mutex for moments, again and again, and one of them may be the one when another's time is
  // over: that rank is to report the ranks for which it has waited, and to inform the others.
  static clock::time_point moments_after(clock::time_point deadline) {
    return std::max(deadline, clock::now()) + std::chrono::seconds{5};
  }

  // Rank 0 waits until all places are taken and writes their owners down.
  void assemble(clock::time_point deadline) {
    job_ = nonce_;
    for (patience between;; between.wait()) {
      std::vector<std::uint32_t> missing;
      {
        const held_file exclusive = directory_.lock(moments_after(deadline));
        std::string roster;
        std::string problem;
        peers_.assign(size_, {});
        for (std::uint32_t r = 0; r < size_; ++r) {
          const auto introduced = living(r);
          if (!introduced) {
            missing.push_back(r);
            continue;
          }
          peers_[r].nonce = introduced->nonce;
          roster += introduced->nonce + '\n';
          if (introduced->size != size_) {
            problem = fmt::format("rank {} was told WEFT_SIZE={} and rank 0 {}", r, introduced->size, size_);
          }
          if (introduced->key != key_) problem = different_keys(r, introduced->key);
          if (directory_.exists("conflict-" + introduced->nonce)) problem = conflict_text;
        }
        if (problem.empty() && missing.empty()) return directory_.write("roster-" + job_, roster);
        if (problem.empty() && clock::now() >= deadline) {
          problem = fmt::format("waited {} s; ranks {} have not come (WEFT_BOOT_TIMEOUT_S is the bound)", seconds(),
                                list_of_ranks(missing));
        }
        if (!problem.empty()) refuse_all(problem);
      }
    }
  }

  std::string different_keys(std::uint32_t rank, const std::string& key) const {
    return fmt::format(
        "rank {} was told WEFT_BOOT_KEY='{}' and rank 0 '{}': two jobs use this directory, or not all ranks of "
        "one were told its key",
        rank, key, key_);
  }

  // The ranks that have arrived shall not wait for a job that can't be.
  [[noreturn]] void refuse_all(const std::string& why) {
    for (std::uint32_t r = 1; r < size_; ++r) {
      if (!peers_[r].nonce.empty()) directory_.write("refused-" + peers_[r].nonce, why);
    }
    fail(why);
  }

  // The others wait for a roster with their own name in it.
  void find_roster(clock::time_point deadline) {
    for (patience between;; between.wait()) {
      {
        const held_file exclusive = directory_.lock(moments_after(deadline));
        if (const auto why = directory_.read("refused-" + nonce_)) fail(*why);
        if (find_own_roster()) return;
        if (roster_of_living_job()) {
          fail("a job that this process doesn't belong to uses this directory; give each job one of its own");
        }
      }
      if (clock::now() >= deadline) {
        const bool there = living(0).has_value();
        fail(there ? fmt::format("waited {} s for rank 0 to find all ranks", seconds())
                   : fmt::format("waited {} s for rank 0, which is not there (WEFT_BOOT_TIMEOUT_S is the bound)",
                                 seconds()));
      }
    }
  }

  // Rank 0 may have died since it wrote the roster; the first fence will say so.
  bool find_own_roster() {
    for (const std::string& name : directory_.list()) {
      if (!name.starts_with("roster-")) continue;
      const std::vector<std::string> nonces = read_roster(name);
      if (nonces.size() != size_ || nonces[rank_] != nonce_) continue;
      job_ = name.substr(std::string_view{"roster-"}.size());
      peers_.clear();
      for (const std::string& nonce : nonces) peers_.push_back({nonce, 0, {}});
      return true;
    }
    return false;
  }

  std::string round_name(std::uint64_t round, std::uint32_t rank) const {
    return fmt::format("round-{}-{}-{}", job_, round, rank);
  }

  void look_for_dead(const std::vector<std::uint32_t>& missing) {
    std::vector<std::uint32_t> dead;
    for (const std::uint32_t r : missing) {
      const auto introduced = living(r);
      const bool alive = introduced && introduced->nonce == peers_[r].nonce;
      if (!alive && !directory_.exists(round_name(round_, r))) dead.push_back(r);
    }
    if (!dead.empty()) fail(fmt::format("in a fence: ranks {} have ended and will not come", list_of_ranks(dead)));
  }

  // `key bytes\n`, then so many bytes; and again.
  void read_round(std::uint32_t rank, std::uint64_t round) {
    const std::string name = round_name(round, rank);
    const auto text = directory_.read(name);
    if (!text) fail(fmt::format("the values of rank {} are gone ({})", rank, name));
    for (std::size_t begin = 0; begin < text->size();) {
      const std::size_t end = std::min(text->find('\n', begin), text->size());
      std::istringstream head{text->substr(begin, end - begin)};
      std::string key;
      std::size_t bytes = 0;
      if (!(head >> key >> bytes) || end == text->size() || bytes > text->size() - end - 1) {
        fail(fmt::format("malformed values of rank {} in {}", rank, name));
      }
      peers_[rank].values.emplace(key, text->substr(end + 1, bytes));
      begin = end + 1 + bytes;
    }
  }

  // The last to leave takes everything away. Others may still read this rank's values until then.
  void leave() noexcept {
    try {
      const held_file exclusive = directory_.lock(moments_after(clock::now()));
      directory_.remove(lock_name(rank_));
      rank_file_ = held_file{};
      const auto names = directory_.list();
      for (const std::string& name : names) {
        if (name.starts_with("rank-") && directory_.is_held(name)) return;
      }
      for (const std::string& name : names) {
        if (is_ours(name)) directory_.remove(name);
      }
      directory_.dissolve();
    } catch (...) {  // the next job in this directory does it
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    throw error{errc::boot_failed, fmt::format("file boot: rank {} of {} in WEFT_BOOT_DIR={}: {}", rank_, size_,
                                               directory_.path(), problem)};
  }
  double seconds() const { return static_cast<double>(timeout_.count()) / 1000; }

  std::mutex mutex_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::chrono::milliseconds timeout_;
  pid_t process_;
  private_directory directory_;
  std::string key_;
  std::string nonce_;
  held_file rank_file_;
  std::string job_;  // rank 0's nonce
  std::vector<peer> peers_;
  std::uint64_t round_ = 0;
  std::string staged_;
  std::map<std::string, int, std::less<>> own_keys_;
};

}  // namespace

std::shared_ptr<bootstrap> make_file(const file_options& options) { return std::make_shared<file_boot>(options); }

}  // namespace weft::boot
