// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>

#include "weft-run/options.hpp"
#include "weft-run/output.hpp"

namespace {

using weft::run::line_gatherer;
using weft::run::sink;

class weft_run_output : public testing::Test {
 protected:
  weft_run_output() {
    EXPECT_EQ(::pipe2(pipe_.data(), O_CLOEXEC), 0);
    ::fcntl(pipe_[0], F_SETFL, O_NONBLOCK);
  }
  ~weft_run_output() override {
    for (const int fd : pipe_) ::close(fd);
  }

  std::string written(sink& to) {
    std::string text;
    do {
      EXPECT_EQ(to.flush(), 0);
      std::array<char, 4096> bytes;
      for (ssize_t n = 0; (n = ::read(pipe_[0], bytes.data(), bytes.size())) > 0;) {
        text.append(bytes.data(), static_cast<std::size_t>(n));
      }
    } while (!to.empty());
    return text;
  }

  std::array<int, 2> pipe_{};
};

TEST_F(weft_run_output, lines_wait_until_they_are_whole) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, ""};
  line_gatherer b{to, 1, ""};
  a.append("half ");
  b.append("whole\nbegun");
  EXPECT_EQ(written(to), "whole\n");
  a.append("a line\n");
  b.show_begun();
  EXPECT_EQ(written(to), "half a line\nbegun");
}

TEST_F(weft_run_output, lines_of_reports_are_kept_apart_until_they_are_asked_for) {
  sink to{pipe_[1], false};
  weft::run::reports all{2};
  line_gatherer a{to, 1, "[0] ", &all};
  line_gatherer b{to, 3, "[1] ", &all};
  b.append("mine\nweft 1/2: stuck: one\nweft 1/2: error: two\nweft 1/2: st");
  EXPECT_EQ(written(to), "[1] mine\n[1] weft 1/2: error: two\n");
  EXPECT_TRUE(all.has_some());
  a.append("it is : stuck: here\nweft 0/2: stuck: three\nweft 0/2: stuck: that is all; if so\n");
  b.append("uck: four\n");
  EXPECT_EQ(written(to), "[0] it is : stuck: here\n");
  EXPECT_TRUE(all.is_complete(0));
  EXPECT_FALSE(all.is_complete(1));
  EXPECT_EQ(all.take_all(), "weft 0/2: stuck: three\nweft 1/2: stuck: one\nweft 1/2: stuck: four\n");
  EXPECT_FALSE(all.has_some());
  EXPECT_FALSE(all.is_complete(0));
  EXPECT_EQ(all.take_all(), "");
}

TEST_F(weft_run_output, a_line_that_is_shown_before_its_end_goes_on_without_another_prefix) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, "[0] "};
  line_gatherer b{to, 1, "[1] "};
  a.append("name? ");
  EXPECT_TRUE(a.has_begun());
  a.show_begun();
  EXPECT_FALSE(a.has_begun());
  EXPECT_EQ(written(to), "[0] name? ");
  a.append("hello\nmore? ");
  a.show_begun();
  b.append("other\n");
  a.append("so\n");
  EXPECT_EQ(written(to), "hello\n[0] more? \n[1] other\n[0] so\n");
}

TEST_F(weft_run_output, who_comes_after_an_unfinished_line_begins_a_new_one) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, ""};
  line_gatherer b{to, 1, ""};
  a.append("no newline");
  a.show_begun();
  b.append("next\n");
  EXPECT_EQ(written(to), "no newline\nnext\n");
}

TEST_F(weft_run_output, the_prefix_stands_before_every_line_and_nowhere_else) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, "[0] "};
  a.append("one\n\ntw");
  a.append("o\nthree");
  a.show_begun();
  EXPECT_EQ(written(to), "[0] one\n[0] \n[0] two\n[0] three");
}

TEST_F(weft_run_output, a_line_beyond_the_bound_goes_on_in_parts) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, "[0] "};
  const std::string half(line_gatherer::line_bytes_max, 'x');
  a.append(half);
  std::string text = written(to);
  EXPECT_EQ(text.size(), half.size() + 4);
  a.append("end\n");
  EXPECT_EQ(written(to), "end\n") << "the same line, so no prefix again";
}

TEST_F(weft_run_output, a_carriage_return_shows_a_progress_bar_at_once_on_a_terminal_alone) {
  sink terminal{pipe_[1], true};
  line_gatherer a{terminal, 0, ""};
  line_gatherer b{terminal, 1, ""};
  a.append("50%\r");
  EXPECT_EQ(written(terminal), "50%\r");
  b.append("line\n");
  EXPECT_EQ(written(terminal), "\033[Kline\n");
  sink file{pipe_[1], false};
  line_gatherer c{file, 0, ""};
  c.append("50%\r");
  EXPECT_EQ(written(file), "");
}

TEST_F(weft_run_output, a_full_sink_says_so_and_keeps_what_it_has) {
  sink to{pipe_[1], false};
  line_gatherer a{to, 0, ""};
  const std::string line = std::string(999, 'x') + "\n";
  std::size_t lines = 0;
  for (; !to.full(); ++lines) {
    a.append(line);
    EXPECT_EQ(to.flush(), 0);  // until the pipe is full
  }
  EXPECT_EQ(written(to).size(), lines * line.size());
  EXPECT_FALSE(to.full());
}

TEST_F(weft_run_output, a_reader_that_is_gone_is_an_errno_once_and_then_silence) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  sink to{pipe_[1], false};
  ::close(std::exchange(pipe_[0], -1));
  to.take(0, "", "x\n");
  EXPECT_EQ(to.flush(), EPIPE);
  to.take(0, "", "y\n");
  EXPECT_TRUE(to.empty());
  EXPECT_EQ(to.flush(), 0);
  ::signal(SIGPIPE, before);
}

TEST(weft_run_options, what_to_bind_to_is_a_name_and_perhaps_a_count) {
  using weft::run::bind_object;
  using weft::run::parse_bind;
  EXPECT_EQ(parse_bind("none")->object, bind_object::none);
  EXPECT_EQ(parse_bind("core")->each, 1U);
  EXPECT_EQ(parse_bind("socket:2")->object, bind_object::socket);
  EXPECT_EQ(parse_bind("socket:2")->each, 2U);
  for (const char* text : {"", "cores", "core:", "core:0", "core:-1", "core:x", "core:99999", "none:2", "core:1:2"}) {
    EXPECT_FALSE(parse_bind(text)) << text;
  }
}

}  // namespace
