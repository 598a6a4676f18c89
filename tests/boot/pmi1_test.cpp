// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "boot/backends.hpp"
#include "boot/pmi1_wire.hpp"
#include "weft-run/pmi_server.hpp"
#include "weft/error.hpp"

namespace {

using namespace std::chrono_literals;
using weft::boot::bootstrap;
using weft::boot::pmi1_wire::line_reader;
using weft::boot::pmi1_wire::message;
using weft::run::pmi_server;

TEST(pmi1_wire, pairs_are_found_in_any_order) {
  const auto reply = message::parse("rc=0 value=a=b cmd=get_result");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->command(), "get_result");
  EXPECT_EQ(reply->find("value"), "a=b");
  EXPECT_EQ(reply->find_number("rc"), 0);
  EXPECT_FALSE(reply->find("msg"));
  EXPECT_FALSE(reply->find_number("value"));
}

TEST(pmi1_wire, a_line_that_is_not_made_of_pairs_is_refused) {
  for (const char* line : {"", "cmd", "hello world", "rc=0", "=x cmd=y", "cmd=a cmd=b", "cmd=a junk"}) {
    EXPECT_FALSE(message::parse(line)) << line;
  }
}

TEST(pmi1_wire, lines_are_cut_wherever_the_bytes_are_split) {
  line_reader lines;
  lines.append("one\ntw");
  EXPECT_EQ(lines.next(), "one");
  EXPECT_FALSE(lines.next());
  lines.append("o\n\nthree");
  EXPECT_EQ(lines.next(), "two");
  EXPECT_EQ(lines.next(), "");
  EXPECT_FALSE(lines.next());
  EXPECT_FALSE(lines.overrun());
  lines.append(std::string(line_reader::line_bytes_max, 'x'));
  EXPECT_TRUE(lines.overrun());
}

TEST(pmi1_wire, every_byte_survives_its_encoding) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    const std::string text = weft::boot::pmi1_wire::encode(bytes);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"), text.npos);
    EXPECT_EQ(weft::boot::pmi1_wire::decode(text), bytes);
    bytes.push_back(static_cast<char>(length * 7));
  }
  for (const char* text : {"A", "A=", "a b", "AAAAA", "AB"}) EXPECT_FALSE(weft::boot::pmi1_wire::decode(text)) << text;
}

TEST(pmi1_wire, a_strangers_line_is_made_printable_and_short) {
  EXPECT_EQ(weft::boot::pmi1_wire::printable("a\x01\xff"), "a??");
  EXPECT_EQ(weft::boot::pmi1_wire::printable(std::string(1000, 'x')).size(), 123U);
}

// Serves the class that weft-run uses over socket pairs, from a thread.
class served_job {
 public:
  explicit served_job(std::uint32_t size) : server_{size} {
    for (std::uint32_t r = 0; r < size; ++r) {
      std::array<int, 2> pair{};
      EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
      ours_.push_back(pair[0]);
      theirs_.push_back(pair[1]);
    }
    thread_ = std::jthread{[this](const std::stop_token& stop) { serve(stop); }};
  }
  ~served_job() {
    thread_.request_stop();
    thread_.join();
    for (const int fd : ours_) ::close(fd);
  }

  std::shared_ptr<bootstrap> connect(std::uint32_t rank, std::chrono::milliseconds timeout = 30s) {
    return weft::boot::make_pmi1({theirs_[rank], rank, static_cast<std::uint32_t>(theirs_.size()), timeout});
  }
  void close_unused(std::uint32_t rank) { ::close(theirs_[rank]); }

 private:
  void serve(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::vector<pollfd> watched;
      for (const int fd : ours_) watched.push_back({fd, POLLIN, 0});
      if (::poll(watched.data(), watched.size(), 10) <= 0) continue;
      for (std::uint32_t r = 0; r < watched.size(); ++r) {
        std::array<char, 100> bytes;  // odd sizes: lines arrive in pieces
        const ssize_t n = ::recv(ours_[r], bytes.data(), bytes.size(), MSG_DONTWAIT);
        if (n <= 0) continue;
        EXPECT_EQ(server_.receive(r, {bytes.data(), static_cast<std::size_t>(n)}), std::nullopt);
        for (const std::uint32_t to : server_.take_ranks_with_replies()) {
          const std::string text = server_.take_replies(to);
          ::send(ours_[to], text.data(), text.size(), MSG_NOSIGNAL);
        }
      }
    }
  }

  pmi_server server_;
  std::vector<int> ours_;
  std::vector<int> theirs_;
  std::jthread thread_;
};

std::string long_value(std::uint32_t rank) {
  std::string text(4096, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i + rank);
  return text;
}

TEST(pmi1_client, ranks_exchange_values_with_the_server_of_weft_run) {
  constexpr std::uint32_t ranks = 3;
  served_job job{ranks};
  std::vector<std::jthread> threads;
  for (std::uint32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&job, r] {
      const auto boot = job.connect(r);
      boot->put("empty", "");
      boot->put("long", long_value(r));
      boot->fence();
      for (std::uint32_t other = 0; other < ranks; ++other) {
        EXPECT_EQ(boot->get(other, "empty"), "");
        EXPECT_EQ(boot->get(other, "long"), long_value(other));
      }
      EXPECT_THROW((void)boot->get(0, "absent"), weft::error);
      boot->fence();
    });
  }
}

TEST(pmi1_client, a_key_put_twice_is_refused) {
  served_job job{1};
  const auto boot = job.connect(0);
  boot->put("k", "1");
  EXPECT_THROW(boot->put("k", "2"), weft::error);
}

TEST(pmi1_client, a_fence_that_the_others_never_enter_names_them) {
  served_job job{4};
  job.close_unused(1);
  job.close_unused(2);
  job.close_unused(3);
  const auto boot = job.connect(0, 2s);
  try {
    boot->fence();
    FAIL() << "nobody else came";
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), weft::errc::boot_failed);
    EXPECT_NE(std::string{e.what()}.find("missing are ranks 1-3"), std::string::npos) << e.what();
  }
}

// What the client says of a server that answers with these lines, one for each request, and then hangs up or waits.
std::string client_against(const std::vector<std::string>& answers, bool hang_up, std::chrono::seconds patience) {
  std::array<int, 2> pair{};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  std::jthread server{[&] {
    for (const std::string& answer : answers) {
      std::array<char, 4096> request;
      if (::recv(pair[0], request.data(), request.size(), 0) <= 0) break;
      ::send(pair[0], answer.data(), answer.size(), MSG_NOSIGNAL);
    }
    if (hang_up) ::shutdown(pair[0], SHUT_RDWR);
  }};
  std::string result = "connected";
  try {
    const auto boot = weft::boot::make_pmi1({pair[1], 0, 2, patience});
    boot->fence();
  } catch (const weft::error& e) {
    EXPECT_EQ(e.code(), weft::errc::boot_failed);
    result = e.what();
  }
  ::shutdown(pair[0], SHUT_RDWR);
  server.join();
  ::close(pair[0]);
  return result;
}

TEST(pmi1_client, a_server_that_misbehaves_is_a_clear_error_and_never_a_hang) {
  const std::string init = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
  const std::string of_weft_run = "cmd=response_to_init rc=0 launcher=weft-run\n";
  const std::string maxes = "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
  const struct {
    std::vector<std::string> answers;
    bool hang_up;
    const char* word;
  } cases[] = {
      {{}, true, "closed the connection"},
      {{}, false, "does not answer"},
      {{"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"}, false, "version 1"},
      {{"cmd=response_to_init rc=-1\n"}, false, "version 1"},
      {{"what?\n"}, false, "no line of PMI-1"},
      {{"cmd=something_else rc=0\n"}, false, "something_else"},
      {{std::string(100000, 'x')}, false, "without end"},
      {{init, "cmd=maxes\n"}, false, "keylen_max"},
      {{init, "cmd=maxes keylen_max=64 vallen_max=-7\n"}, false, "vallen_max"},
      {{init, maxes, "cmd=my_kvsname rc=0\n"}, false, "key-value space"},
      {{init, maxes, "cmd=my_kvsname kvsname=k\n"}, false, "waited"},
      {{init, maxes, "cmd=my_kvsname kvsname=k\n"}, true, "closed the connection"},
      {{of_weft_run, maxes, "cmd=my_kvsname kvsname=k\n", "", "cmd=weft_missing rc=0\n"}, true, "waited"},
      {{of_weft_run, maxes, "cmd=my_kvsname kvsname=k\n", "", "cmd=something_else\n"}, true, "something_else"},
      {{of_weft_run, maxes, "cmd=my_kvsname kvsname=k\n", "", "cmd=barrier_out\ncmd=something_else\n"},
       true,
       "something_else"},
  };
  for (const auto& c : cases) {
    const bool waits_in_vain =
        std::string_view{c.word} == "does not answer" || std::string_view{c.word} == "waited" || c.answers.size() == 5;
    const std::string text = client_against(c.answers, c.hang_up, waits_in_vain ? 2s : 30s);
    EXPECT_NE(text.find(c.word), std::string::npos) << "'" << c.word << "' not in: " << text;
  }
}

// The last rank may come after the time is over and before the launcher is asked who is missing.
TEST(pmi1_client, a_fence_that_ends_while_it_is_asked_who_is_missing_has_ended) {
  const std::vector<std::string> answers = {
      "cmd=response_to_init rc=0 launcher=weft-run\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
      "cmd=my_kvsname kvsname=k\n", "", "cmd=barrier_out rc=0\ncmd=weft_missing rc=0 ranks=1\n"};
  EXPECT_EQ(client_against(answers, true, 2s), "connected");
}

TEST(pmi1_client, a_launcher_that_is_silent_in_a_fence_is_named) {
  std::array<int, 2> pair{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()), 0);
  weft::base::set_clock time;
  std::jthread server{[&](const std::stop_token& stop) {
    for (const char* answer :
         {"cmd=response_to_init rc=0 launcher=weft-run\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
          "cmd=my_kvsname kvsname=k\n"}) {
      std::array<char, 4096> request;
      if (::recv(pair[0], request.data(), request.size(), 0) <= 0) break;
      ::send(pair[0], answer, std::string_view{answer}.size(), MSG_NOSIGNAL);
    }
    while (!stop.stop_requested()) {
      std::this_thread::sleep_for(1ms);
      time.advance(1s);
    }
  }};
  try {
    weft::boot::make_pmi1({pair[1], 0, 2, 600s})->fence();
    FAIL() << "there is no other rank";
  } catch (const weft::error& e) {
    EXPECT_NE(std::string{e.what()}.find("weft-run does not answer"), std::string::npos) << e.what();
  }
  server.request_stop();
  server.join();
  ::close(pair[0]);
}

TEST(pmi1_client, a_descriptor_that_is_no_socket_is_refused) {
  EXPECT_THROW((void)weft::boot::make_pmi1({987654, 0, 2, 1s}), weft::error);
  EXPECT_THROW((void)weft::boot::make_pmi1({-1, 0, 2, 1s}), weft::error);
}

TEST(pmi_server, malformed_input_is_refused_and_says_whose_it_was) {
  const char* const inputs[] = {"hello\n",
                                "cmd=barrier_in\n",
                                "cmd=init pmi_version=1\ncmd=init pmi_version=1\n",
                                "\n",
                                "cmd=put\n",
                                "cmd=init pmi_version=1\ncmd=barrier_in\ncmd=barrier_in\n",
                                "cmd=init pmi_version=1\ncmd=spawn nprocs=2\n",
                                "cmd=init pmi_version=1\ncmd=finalize\ncmd=get key=a\n"};
  for (const char* input : inputs) {
    pmi_server server{3};
    const auto complaint = server.receive(2, input);
    ASSERT_TRUE(complaint) << input;
    EXPECT_NE(complaint->find("rank 2"), std::string::npos) << *complaint;
    EXPECT_FALSE(server.receive(2, "more junk\n")) << "one complaint is enough";
  }
  pmi_server server{2};
  EXPECT_TRUE(server.receive(1, std::string(100000, 'x')));
}

TEST(pmi_server, odd_requests_are_answered_with_a_refusal) {
  pmi_server server{1};
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1 pmi_subversion=1\n"));
  (void)server.take_replies(0);
  for (const std::string& request :
       {std::string{"cmd=put kvsname=other key=a value=b\n"}, std::string{"cmd=put kvsname=weft value=b\n"},
        std::string{"cmd=put kvsname=weft key=a\n"}, std::string{"cmd=get kvsname=weft\n"},
        std::string{"cmd=get kvsname=weft key=a\n"},
        "cmd=put kvsname=weft key=a value=" + std::string(2000, 'x') + "\n"}) {
    EXPECT_FALSE(server.receive(0, request));
    EXPECT_NE(server.take_replies(0).find("rc=-1"), std::string::npos) << request;
  }
}

TEST(pmi_server, what_one_rank_stores_is_bounded) {
  pmi_server server{1};
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1\n"));
  std::string last;
  for (int i = 0; i < 20000 && last.find("no_room") == last.npos; ++i) {
    EXPECT_FALSE(server.receive(0, fmt::format("cmd=put kvsname=weft key={} value={}\n", i, std::string(1000, 'x'))));
    last = server.take_replies(0);
  }
  EXPECT_NE(last.find("no_room"), std::string::npos);
}

TEST(pmi_server, a_rank_that_ends_without_a_word_fails_those_who_wait_for_it) {
  pmi_server server{3};
  for (const std::uint32_t r : {0U, 2U}) EXPECT_FALSE(server.receive(r, "cmd=init pmi_version=1\ncmd=barrier_in\n"));
  const auto complaint = server.rank_ended(1);
  ASSERT_TRUE(complaint);
  EXPECT_NE(complaint->find("rank 1 ended without ever"), std::string::npos) << *complaint;
  EXPECT_NE(complaint->find("ranks 0, 2 wait"), std::string::npos) << *complaint;
}

TEST(pmi_server, waiting_for_a_rank_that_has_ended_before_fails_at_once) {
  pmi_server server{2};
  EXPECT_FALSE(server.rank_ended(1)) << "nobody waits yet; it may be no program of ours";
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1\n"));
  EXPECT_TRUE(server.receive(0, "cmd=barrier_in\n"));
}

TEST(pmi_server, a_rank_that_took_its_leave_is_not_waited_for_in_vain) {
  pmi_server server{2};
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1\ncmd=barrier_in\n"));
  const auto complaint = server.receive(1, "cmd=init pmi_version=1\ncmd=finalize\n");
  ASSERT_TRUE(complaint);
  EXPECT_NE(complaint->find("rank 1 took its leave"), std::string::npos) << *complaint;
}

TEST(pmi_server, an_abort_carries_its_exit_code) {
  pmi_server server{1};
  EXPECT_FALSE(server.receive(0, "cmd=init pmi_version=1\ncmd=abort exitcode=9\n"));
  EXPECT_EQ(server.abort_code(), 9);
}

}  // namespace
