// SPDX-License-Identifier: BSD-3-Clause
// How ranks hand each other their segments: visitors that are let in or sent away, and the lines about them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <latch>
#include <map>
#include <optional>
#include <thread>

#include "base/config.hpp"
#include "net/shm/handshake.hpp"
#include "net/shm/invitation.hpp"
#include "net/shm/rendezvous_socket.hpp"
#include "weft/error.hpp"

namespace weft::net::shm {
namespace {

using testing::HasSubstr;
constexpr shape job_shape{.ranks = 2, .devices_max = 2, .ring_cells = 8, .packet_count = 4, .packet_bytes = 512};
const secret others_password{7, 7, 7};

// A bootstrap of two ranks; this test is the other one.
class scripted final : public boot::bootstrap {
 public:
  explicit scripted(std::uint32_t rank) : rank_{rank} {}
  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return 2; }
  const char* name() const noexcept override { return "scripted"; }
  void put(std::string_view /*key*/, std::string_view bytes) override { mine = read_invitation(bytes, rank_); }
  void fence() override {
    if (fences_++ == 0) published.count_down();
  }
  std::string get(std::uint32_t rank, std::string_view /*key*/) override {
    invitation out = mine;
    if (rank != rank_) out = {{others_machine.value_or(mine.machine), {1, 2, 3}, others_segment, others_password}};
    return bytes_of(out);
  }

  invitation mine{};
  std::optional<base::machine_mark::name_type> others_machine;  // this one's unless set
  secret others_segment{};
  std::latch published{1};

 private:
  std::uint32_t rank_;
  int fences_ = 0;
};

deadline soon() { return base::clock::now() + std::chrono::seconds{30}; }

// A rank's segment, as it should be.
struct owned_segment {
  explicit owned_segment(std::uint32_t rank) {
    std::tie(memory, file) = segment::create(where.bytes);
    auto& header = *reinterpret_cast<segment_header*>(memory.memory());
    header.magic = segment_magic;
    header.rank = rank;
    header.shape = job_shape;
  }
  layout where{job_shape};
  segment memory;
  base::descriptor file;
};

// The rank under test, in a thread of its own.
class meeting_rank {
 public:
  explicit meeting_rank(std::uint32_t rank, std::uint32_t timeout_s = 30) : boot{rank}, own_{rank} {
    settings_.boot_timeout_s = timeout_s;
    for (std::uint32_t each = 0; each < 2; ++each) peers_.push_back(std::make_unique<peer>(rank, each, own_.where));
  }

  void start() {
    thread_ = std::thread{[this] {
      try {
        const transport_context context{boot, settings_, "test"};
        is_one_machine_ = meet_peers(context, own_.memory.memory(), own_.file, own_.where.bytes, peers_);
      } catch (const error& thrown) {
        error_text_ = thrown.what();
      }
      forget_segment(own_.memory.memory());
    }};
    boot.published.wait();
  }

  // The text of its exception; empty where all went well.
  std::string end() {
    thread_.join();
    return error_text_;
  }
  [[nodiscard]] bool is_one_machine() const { return is_one_machine_; }
  [[nodiscard]] bool is_attached(std::uint32_t rank) const { return peers_[rank]->is_attached(); }
  [[nodiscard]] base::descriptor visit() const { return connect_to(socket_name(boot.mine.segment), soon()); }

  scripted boot;

 private:
  owned_segment own_;
  base::settings settings_;
  std::vector<std::unique_ptr<peer>> peers_;
  std::thread thread_;
  std::string error_text_;
  bool is_one_machine_ = false;
};

TEST(shm_invitation, has_as_many_processors_as_there_are_and_fits_a_value_of_the_bootstrap) {
  base::processor_set every_second;
  for (std::uint32_t each = 0; each < base::processor_set::size; each += 2) every_second.add(each);
  for (const auto& processors :
       {base::read_processor_list("none"), base::read_processor_list("0-1"), base::read_processor_list("63"),
        base::read_processor_list("64"), base::read_processor_list("5,1100,8191"), every_second}) {
    const std::string bytes = bytes_of({{{1}, {2}, {3}, {4}}, processors});
    const invitation heard = read_invitation(bytes, 1);
    EXPECT_EQ(heard.processors, processors);
    EXPECT_EQ(heard.password, secret{4});
    EXPECT_LE(bytes.size(), boot::value_bytes_max);
    EXPECT_THROW(static_cast<void>(read_invitation(bytes + "x", 1)), error);
    EXPECT_THROW(static_cast<void>(read_invitation(bytes + std::string(8, '\0'), 1)), error);
    const std::string_view cut = std::string_view{bytes}.substr(0, sizeof(invitation_head) - 1);
    EXPECT_THROW(static_cast<void>(read_invitation(cut, 1)), error);
  }
  EXPECT_THROW(static_cast<void>(read_invitation(std::string(sizeof(invitation_head) + 129 * 8, '\xff'), 1)), error);
  EXPECT_THROW(static_cast<void>(read_invitation("", 1)), error);
}

bool hung_up(const base::descriptor& socket) {
  static_cast<void>(wait_for_any(std::array{socket.get()}, soon()));
  char byte;
  const ssize_t got = ::recv(socket.get(), &byte, 1, 0);
  return got == 0 || (got < 0 && errno == ECONNRESET);
}

void introduce_rightly(const meeting_rank& host) {
  const owned_segment mine{1};
  const base::descriptor socket = host.visit();
  send_with_descriptor(socket, greeting{host.boot.mine.password, 1}, mine.file, soon());
  greeting answer{};
  const base::descriptor theirs = receive_with_descriptor(socket, answer, soon());
  EXPECT_EQ(answer.rank, 0U);
  EXPECT_EQ(answer.password, others_password);
  EXPECT_TRUE(theirs);
}

// Once it has, it opens and closes no more files of its own until the next visitor.
void be_sent_away(const meeting_rank& host) {
  const base::descriptor babbles = host.visit();
  ASSERT_EQ(::send(babbles.get(), "hello", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(hung_up(babbles));
}

TEST(handshake, sends_strangers_away_and_lets_the_rank_in_that_comes_after_them) {
  meeting_rank host{0};
  host.start();
  const owned_segment good{1};
  const secret password = host.boot.mine.password;
  { const base::descriptor leaves_at_once = host.visit(); }
  be_sent_away(host);
  {
    const base::descriptor has_no_segment = host.visit();
    const greeting said{password, 1};
    ASSERT_EQ(::send(has_no_segment.get(), &said, sizeof said, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof said));
    EXPECT_TRUE(hung_up(has_no_segment));
  }
  {
    const base::descriptor says_too_much = host.visit();
    send_with_descriptor(says_too_much, std::array<greeting, 3>{}, good.file, soon());
    EXPECT_TRUE(hung_up(says_too_much));
  }
  for (const greeting& wrong : {greeting{{}, 1}, greeting{others_password, 1}, greeting{password, 0},
                                greeting{password, 2}, greeting{password, ~0U}}) {
    const base::descriptor stranger = host.visit();
    send_with_descriptor(stranger, wrong, good.file, soon());
    EXPECT_TRUE(hung_up(stranger)) << "rank " << wrong.rank;
  }
  EXPECT_FALSE(host.is_attached(1));
  introduce_rightly(host);
  EXPECT_EQ(host.end(), "");
  EXPECT_TRUE(host.is_attached(1));
  EXPECT_TRUE(host.is_one_machine());
}

// As many descriptors as the system lets through: each is this process's, and open until the process closes it.
TEST(rendezvous_socket, keeps_no_descriptor_of_a_message_that_has_another_number_of_them_than_one) {
  for (const std::size_t count : {2U, 3U, 8U}) {
    std::array<int, 2> sockets{-1, -1}, pipes{-1, -1};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
    ASSERT_EQ(::pipe2(pipes.data(), O_CLOEXEC), 0);
    const base::descriptor mine{sockets[0]}, others{sockets[1]}, reader{pipes[0]};
    base::descriptor writer{pipes[1]};
    greeting said{others_password, 1};
    iovec part{&said, sizeof said};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    const std::vector<int> files(count, writer.get());
    std::memcpy(CMSG_DATA(rights), files.data(), count * sizeof(int));
    ASSERT_EQ(::sendmsg(others.get(), &message, 0), static_cast<ssize_t>(sizeof said));
    greeting heard{};
    EXPECT_THROW(static_cast<void>(receive_with_descriptor(mine, heard, soon())), error);
    writer = base::descriptor{};
    static_cast<void>(wait_for_any(std::array{reader.get()}, soon()));  // throws where a writer is left
    char byte = 0;
    EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << count;
  }
}

// This process may open as many more files as that, while it lives.
class files_left {
 public:
  explicit files_left(std::size_t count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    std::vector<base::descriptor> lowest;  // free numbers, and the first that is beyond the limit
    while (lowest.size() <= count) lowest.emplace_back(::dup(STDERR_FILENO));
    const rlimit now{static_cast<rlim_t>(lowest.back().get()), before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~files_left() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  files_left(const files_left&) = delete;
  files_left& operator=(const files_left&) = delete;

 private:
  rlimit before_{};
};

TEST(rendezvous_socket, says_that_this_process_has_no_descriptor_left_for_the_one_that_came) {
  std::array<int, 2> sockets{-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const base::descriptor mine{sockets[0]}, others{sockets[1]};
  const owned_segment good{1};
  send_with_descriptor(others, greeting{others_password, 1}, good.file, soon());
  const files_left none{0};
  greeting heard{};
  try {
    static_cast<void>(receive_with_descriptor(mine, heard, soon()));
    FAIL() << "there was room for it";
  } catch (const error& thrown) {
    EXPECT_EQ(thrown.code(), errc::out_of_memory);
    EXPECT_THAT(thrown.what(), testing::MatchesRegex("this process has no descriptor left for a segment.*ulimit -n.*"));
  }
}

// The rank would wait for a visitor that has arrived, and the visitor for an answer, both until their deadline.
TEST(handshake, of_a_host_with_no_descriptor_left_ends_at_once_on_both_sides) {
  meeting_rank host{0};
  host.start();
  be_sent_away(host);
  const owned_segment good{1};
  const files_left for_both_sockets{2};
  const base::descriptor visitor = host.visit();
  send_with_descriptor(visitor, greeting{host.boot.mine.password, 1}, good.file, soon());
  EXPECT_TRUE(hung_up(visitor));
  EXPECT_THAT(host.end(), HasSubstr("no descriptor left"));
  EXPECT_FALSE(host.is_attached(1));
}

TEST(handshake, does_not_wait_for_strangers_who_say_nothing) {
  meeting_rank host{0};
  host.start();
  std::vector<base::descriptor> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(host.visit());
  introduce_rightly(host);
  EXPECT_EQ(host.end(), "");
  EXPECT_TRUE(host.is_attached(1));
}

TEST(handshake, refuses_segments_that_could_shrink_or_are_not_what_was_agreed_on) {
  meeting_rank host{0};
  host.start();
  std::vector<base::descriptor> bad;
  bad.emplace_back(memfd_create("short", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bad.emplace_back(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(bad.back().get(), static_cast<off_t>(layout{job_shape}.bytes)), 0);
  owned_segment other_rank{0}, no_magic{1}, other_shape{1};
  reinterpret_cast<segment_header*>(no_magic.memory.memory())->magic = 5;
  reinterpret_cast<segment_header*>(other_shape.memory.memory())->shape.ring_cells = 16;
  bad.push_back(std::move(other_rank.file));
  bad.push_back(std::move(no_magic.file));
  bad.push_back(std::move(other_shape.file));
  for (const base::descriptor& file : bad) {
    const base::descriptor socket = host.visit();
    send_with_descriptor(socket, greeting{host.boot.mine.password, 1}, file, soon());
    greeting answer{};
    static_cast<void>(receive_with_descriptor(socket, answer, soon()));
    EXPECT_TRUE(hung_up(socket));
    EXPECT_FALSE(host.is_attached(1));
  }
  introduce_rightly(host);
  EXPECT_EQ(host.end(), "");
}

TEST(handshake, says_whom_it_waited_for_in_vain) {
  meeting_rank host{0, 3};
  host.start();
  const base::descriptor silent = host.visit();
  EXPECT_THAT(host.end(), HasSubstr("rank 0 waited in vain for 1 of the ranks on its machine"));
}

// The other way round: the rank under test visits a socket that should be rank 0's.
class visited_host {
 public:
  explicit visited_host(meeting_rank& visitor) {
    visitor.boot.others_segment = {9, static_cast<unsigned char>(::getpid()), 4};
    listener_ = listen_at(socket_name(visitor.boot.others_segment), 2);
    visitor.start();
    socket_ = accept_at(listener_, soon());
    greeting said{};
    static_cast<void>(receive_with_descriptor(socket_, said, soon()));
    EXPECT_EQ(said.rank, 1U);
    EXPECT_EQ(said.password, others_password);
  }

  void answer(const greeting& reply, const base::descriptor& file) {
    send_with_descriptor(socket_, reply, file, soon());
  }
  void hang_up() { socket_ = base::descriptor{}; }

 private:
  base::descriptor listener_, socket_;
};

// Whichever of the two would have to visit: neither waits, and nothing fails.
TEST(handshake, leaves_ranks_alone_whose_mark_is_not_on_this_machine) {
  for (const std::uint32_t rank : {0U, 1U}) {
    meeting_rank alone{rank};
    alone.boot.others_machine.emplace().fill(9);
    alone.start();
    EXPECT_EQ(alone.end(), "");
    EXPECT_FALSE(alone.is_attached(1 - rank));
    EXPECT_FALSE(alone.is_one_machine());
  }
}

TEST(handshake, of_a_visitor_names_the_host_that_answers_wrongly) {
  {
    meeting_rank visitor{1};
    visited_host host{visitor};
    host.answer({{1}, 0}, owned_segment{0}.file);
    EXPECT_THAT(visitor.end(), HasSubstr("rank 1 can't share memory with rank 0: somebody else answered"));
  }
  {
    meeting_rank visitor{1};
    visited_host host{visitor};
    host.answer({visitor.boot.mine.password, 1}, owned_segment{0}.file);
    EXPECT_THAT(visitor.end(), HasSubstr("somebody else answered"));
  }
  {
    meeting_rank visitor{1};
    visited_host host{visitor};
    host.hang_up();
    EXPECT_THAT(visitor.end(), HasSubstr("rank 1 can't share memory with rank 0: it hung up"));
  }
  {
    meeting_rank visitor{1};
    visited_host host{visitor};
    owned_segment other{0};
    reinterpret_cast<segment_header*>(other.memory.memory())->shape.packet_count = 5;
    host.answer({visitor.boot.mine.password, 0}, other.file);
    EXPECT_THAT(visitor.end(), HasSubstr("give all ranks the same WEFT_* settings"));
  }
}

}  // namespace
}  // namespace weft::net::shm
