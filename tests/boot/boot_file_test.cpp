// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "boot/backends.hpp"
#include "boot/file_directory.hpp"
#include "support/waiting.hpp"
#include "weft/error.hpp"

namespace {

using namespace std::chrono_literals;
using weft::boot::bootstrap;
namespace fs = std::filesystem;

class boot_file : public testing::Test {
 protected:
  boot_file() {
    std::string pattern = (fs::temp_directory_path() / "weft-boot-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    directory_ = root_ / "job";
  }
  ~boot_file() override { fs::remove_all(root_); }

  std::shared_ptr<bootstrap> make(std::uint32_t rank, std::uint32_t size, std::chrono::milliseconds timeout = 30s,
                                  const std::string& key = "") {
    return weft::boot::make_file({directory_.string(), rank, size, timeout, key});
  }

  template <class Work>
  static std::string refusal_of(Work work) {
    try {
      work();
    } catch (const weft::error& e) {
      EXPECT_EQ(e.code(), weft::errc::boot_failed);
      return e.what();
    }
    return "accepted";
  }
  std::string refusal(std::uint32_t rank, std::uint32_t size, std::chrono::milliseconds timeout = 30s,
                      const std::string& key = "") {
    return refusal_of([&] { (void)make(rank, size, timeout, key); });
  }

  std::array<std::shared_ptr<bootstrap>, 2> make_job_of_two(const std::string& key = "") {
    std::array<std::shared_ptr<bootstrap>, 2> job;
    std::jthread other{[&] { job[1] = make(1, 2, 30s, key); }};
    job[0] = make(0, 2, 30s, key);
    other.join();
    return job;
  }
  static void fence(const std::array<std::shared_ptr<bootstrap>, 2>& job) {
    std::jthread other{[&] { job[1]->fence(); }};
    job[0]->fence();
  }

  // One rank's part in a job of `size`; throws its failure.
  void take_part(std::uint32_t rank, std::uint32_t size) {
    const auto boot = make(rank, size);
    for (int round = 0; round < 3; ++round) {
      const std::string key = fmt::format("round-{}", round);
      boot->put(key, std::string(4096, static_cast<char>(rank)));
      boot->fence();
      for (std::uint32_t r = 0; r < size; ++r) {
        if (boot->get(r, key) != std::string(4096, static_cast<char>(r))) throw std::runtime_error{"wrong value"};
      }
    }
  }

  // A child process that does this; its exit code is 0 unless it throws.
  template <class Work>
  pid_t in_process(Work work) {
    const pid_t child = ::fork();
    if (child != 0) return child;
    int code = 0;
    try {
      work();
    } catch (const std::exception& e) {
      (void)!::write(STDERR_FILENO, e.what(), std::string_view{e.what()}.size());
      code = 1;
    }
    ::_exit(code);
  }
  static int exit_of(pid_t child) {
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path root_;
  fs::path directory_;
};

TEST_F(boot_file, ranks_as_threads_exchange_values_and_leave_nothing) {
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < 4; ++r) threads.emplace_back([this, r] { take_part(r, 4); });
  }
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(boot_file, ranks_as_processes_exchange_values_and_leave_nothing) {
  std::vector<pid_t> children;
  for (std::uint32_t r = 0; r < 3; ++r) children.push_back(in_process([=, this] { take_part(r, 3); }));
  for (const pid_t child : children) EXPECT_EQ(exit_of(child), 0);
  EXPECT_FALSE(fs::exists(directory_));
}

// A rank that has died is not taken for alive because of a process that it has started.
TEST_F(boot_file, a_child_that_lives_on_does_not_hold_its_parents_place) {
  std::array<int, 2> begun{-1, -1}, over{-1, -1};
  ASSERT_EQ(::pipe(begun.data()), 0);
  ASSERT_EQ(::pipe(over.data()), 0);
  const pid_t rank = in_process([&] {
    const auto boot = make(0, 1);
    char byte = 0;
    if (::fork() == 0) {  // lives until this test has gone on
      ::close(over[1]);
      (void)!::write(begun[1], &byte, 1);
      (void)!::read(over[0], &byte, 1);
      ::_exit(0);
    }
    (void)!::read(begun[0], &byte, 1);
    ::_exit(0);  // without a word
  });
  EXPECT_EQ(exit_of(rank), 0);
  EXPECT_NO_THROW(take_part(0, 1));
  for (const int each : {begun[0], begun[1], over[0], over[1]}) ::close(each);
}

TEST_F(boot_file, a_directory_made_by_the_user_stays_empty) {
  fs::create_directory(directory_);
  fs::permissions(directory_, fs::perms::owner_all);
  take_part(0, 1);
  EXPECT_TRUE(fs::is_empty(directory_));
}

TEST_F(boot_file, the_directory_is_private) {
  const auto boot = make(0, 1);
  struct stat status {};
  ASSERT_EQ(::stat(directory_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
}

TEST_F(boot_file, a_directory_that_others_may_write_to_is_refused) {
  fs::create_directory(directory_);
  fs::permissions(directory_, fs::perms::all);
  EXPECT_NE(refusal(0, 1).find("others may write"), std::string::npos);
}

TEST_F(boot_file, a_directory_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make one";
  fs::create_directory(directory_);
  fs::permissions(directory_, fs::perms::owner_all);
  ASSERT_EQ(::chown(directory_.c_str(), 12345, 12345), 0);
  EXPECT_NE(refusal(0, 1).find("another user"), std::string::npos);
}

TEST_F(boot_file, what_a_crashed_job_left_behind_is_neither_believed_nor_kept) {
  for (int crash = 0; crash < 3; ++crash) {
    std::vector<pid_t> children;
    for (std::uint32_t r = 0; r < 2; ++r) {
      children.push_back(in_process([=, this] {
        const auto boot = make(r, 2);
        boot->put("round-0", "stale");
        if (crash > 0) boot->fence();
        if (crash > 1 && r == 0) boot->fence();  // which rank 1 never enters
        ::kill(::getpid(), SIGKILL);
      }));
    }
    if (crash > 1) {
      EXPECT_EQ(exit_of(children[1]), 128 + SIGKILL);
      EXPECT_EQ(exit_of(children[0]), 1) << "it notices that rank 1 is dead";
    } else {
      for (const pid_t child : children) EXPECT_EQ(exit_of(child), 128 + SIGKILL);
      EXPECT_FALSE(fs::is_empty(directory_));
    }
    std::vector<std::jthread> threads;
    for (std::uint32_t r = 0; r < 2; ++r) threads.emplace_back([this, r] { take_part(r, 2); });
    threads.clear();
    EXPECT_FALSE(fs::exists(directory_)) << "and the next job takes it away";
  }
}

TEST_F(boot_file, a_second_job_in_the_directory_of_a_running_one_gets_a_clear_error_and_hurts_nobody) {
  const auto first = make_job_of_two();
  fence(first);
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_NE(refusal(r, 2).find("another job"), std::string::npos);
  EXPECT_NE(refusal(2, 3).find("doesn't belong to"), std::string::npos);
  fence(first);
}

TEST_F(boot_file, a_job_whose_rank_0_has_ended_keeps_its_directory_and_its_values) {
  auto first = make_job_of_two();
  first[0]->put("key", "value");
  fence(first);
  first[0] = {};
  for (std::uint32_t r = 0; r < 2; ++r) EXPECT_NE(refusal(r, 2).find("give each job one"), std::string::npos);
  EXPECT_EQ(first[1]->get(0, "key"), "value");
  first = {};
  EXPECT_FALSE(fs::exists(directory_));
}

// Rank 0 of one job and rank 1 of another were the first to come. The next one to come can't say whose partner it is.
TEST_F(boot_file, ranks_of_two_jobs_that_were_taken_for_one_are_refused_at_the_first_fence) {
  for (std::uint32_t latecomer = 0; latecomer < 2; ++latecomer) {
    auto mixed = make_job_of_two();
    EXPECT_NE(refusal(latecomer, 2).find("another job"), std::string::npos);
    std::string one;
    std::jthread other{[&] { one = refusal_of([&] { mixed[1]->fence(); }); }};
    const std::string zero = refusal_of([&] { mixed[0]->fence(); });
    other.join();
    for (const std::string& text : {zero, one})
      EXPECT_NE(text.find("two jobs were started"), std::string::npos) << text;
    mixed = {};
    EXPECT_FALSE(fs::exists(directory_));
  }
}

TEST_F(boot_file, ranks_with_one_key_are_a_job_and_ranks_with_two_keys_never) {
  { fence(make_job_of_two("a key: $1\nand more")); }
  for (const char* others_key : {"", "b", "a\n"}) {
    std::string one;
    std::jthread rank_one{[&] { one = refusal(1, 2, 30s, others_key); }};
    EXPECT_TRUE(weft::test::eventually([&] { return fs::exists(directory_ / "rank-1.lock"); }));
    const std::string zero = refusal(0, 2, 30s, "a");
    rank_one.join();
    const std::string wanted = fmt::format("rank 1 was told WEFT_BOOT_KEY='{}' and rank 0 'a'", others_key);
    for (const std::string& text : {zero, one}) EXPECT_NE(text.find(wanted), std::string::npos) << text;
    EXPECT_FALSE(fs::exists(directory_));
  }
}

TEST_F(boot_file, two_jobs_that_start_at_once_are_never_mixed_where_they_meet) {
  // Rank 0 of one job is there; rank 0 of another meets it: now no rank can know whose rank 1 will arrive.
  std::string first;
  std::jthread waiting{[&] { first = refusal(0, 2); }};
  EXPECT_TRUE(weft::test::eventually([&] { return fs::exists(directory_ / "rank-0.lock"); }));
  const std::string second = refusal(0, 2);
  waiting.join();
  EXPECT_NE(second.find("another job"), std::string::npos) << second;
  EXPECT_NE(first.find("two jobs were started"), std::string::npos) << first;
  EXPECT_FALSE(fs::exists(directory_));
}

TEST_F(boot_file, a_rank_that_never_comes_is_named) {
  std::string one;
  std::jthread rank_one{[&] { one = refusal(1, 4); }};
  EXPECT_TRUE(weft::test::eventually([&] { return fs::exists(directory_ / "rank-1.lock"); }));
  const std::string zero = refusal(0, 4, 6s);
  rank_one.join();
  for (const std::string& text : {zero, one})
    EXPECT_NE(text.find("ranks 2-3 have not come"), std::string::npos) << text;
  EXPECT_NE(refusal(1, 2, 2s).find("rank 0, which is not there"), std::string::npos);
  EXPECT_FALSE(fs::exists(directory_));
}

// Ranks look into the directory one at a time: a rank that finds another one there at the end of its time still names
// the ranks for which it has waited.
TEST_F(boot_file, a_rank_says_what_it_waited_for_though_another_one_is_looking) {
  for (const std::uint32_t rank : {0U, 1U}) {
    std::string text;
    std::jthread waiting{[&] { text = refusal(rank, 2, 300ms); }};
    const std::string lock_file = fmt::format("rank-{}.lock", rank);
    EXPECT_TRUE(weft::test::eventually([&] { return fs::exists(directory_ / lock_file); }));
    {
      weft::boot::private_directory same{directory_.string()};
      const auto now = weft::base::clock::now();
      const weft::boot::held_file looking = same.lock(now + 30s);
      std::this_thread::sleep_for(600ms);
    }
    waiting.join();
    const std::string wanted = rank == 0 ? "ranks 1 have not come" : "rank 0, which is not there";
    EXPECT_NE(text.find(wanted), std::string::npos) << text;
  }
}

TEST_F(boot_file, ranks_that_were_told_different_sizes_are_refused) {
  std::string one;
  std::jthread rank_one{[&] { one = refusal(1, 3); }};
  EXPECT_TRUE(weft::test::eventually([&] { return fs::exists(directory_ / "rank-1.lock"); }));
  const std::string zero = refusal(0, 2);
  rank_one.join();
  for (const std::string& text : {zero, one})
    EXPECT_NE(text.find("rank 1 was told WEFT_SIZE=3"), std::string::npos) << text;
}

TEST_F(boot_file, a_fence_names_a_rank_that_has_ended) {
  std::shared_ptr<bootstrap> zero;
  {
    std::shared_ptr<bootstrap> one;
    std::jthread other{[&] { one = make(1, 2); }};
    zero = make(0, 2);
    other.join();
  }
  try {
    zero->fence();
    FAIL() << "rank 1 is gone";
  } catch (const weft::error& e) {
    EXPECT_NE(std::string{e.what()}.find("ranks 1 have ended"), std::string::npos) << e.what();
  }
}

}  // namespace
