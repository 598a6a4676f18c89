// SPDX-License-Identifier: BSD-3-Clause
// How ranks meet before they share memory: invitations, greetings with any number of descriptors, and segments of any
// size, seals and header. One that fits is let in, all others are sent away, and no descriptor stays behind.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "fuzz/input.hpp"
#include "net/shm/invitation.hpp"
#include "net/shm/layout.hpp"
#include "net/shm/peer.hpp"
#include "net/shm/rendezvous_socket.hpp"
#include "support/boundaries.hpp"
#include "weft/error.hpp"

namespace {

using namespace weft;
using namespace weft::net::shm;
using fuzz::require;

constexpr shape job_shape{.ranks = 3, .devices_max = 2, .ring_cells = 8, .packet_count = 4, .packet_bytes = 512};
const layout where{job_shape};
constexpr secret password{7, 7, 7};
constexpr std::uint32_t host = 0;

deadline soon() { return weft::base::clock::now() + std::chrono::seconds{30}; }

// Descriptors that are open among the first ones, which is where new ones are.
int open_descriptors() {
  int out = 0;
  for (int each = 0; each < 64; ++each) out += ::fcntl(each, F_GETFD) >= 0 ? 1 : 0;
  return out;
}

void read_invitation_of(fuzz::input& in) {
  const auto how = in.take<std::uint8_t>();
  const std::size_t words = how / 2 % 4 == 3 ? how : how / 2 % 4;
  const auto text = in.take_bytes(how % 2 == 0 ? sizeof(invitation_head) : in.take<std::uint8_t>());
  std::vector<char> exact{text.begin(), text.end()};
  const bool has_head = exact.size() == sizeof(invitation_head);
  std::uint64_t last = 1;
  for (std::size_t i = 0; has_head && i < words; ++i) {
    last = in.take<std::uint64_t>();
    exact.insert(exact.end(), reinterpret_cast<char*>(&last), reinterpret_cast<char*>(&last) + sizeof last);
  }
  try {
    const invitation read = read_invitation({exact.data(), exact.size()}, 1);
    require(bytes_of(read) == std::string_view{exact.data(), exact.size()}, "another invitation");
    require(socket_name(read.segment).size() == 5 + 2 * sizeof read.segment, "a name of another length");
  } catch (const error&) {
    require(!has_head || last == 0 || words > weft::base::processor_set::size / 64, "an invitation was not believed");
  }
}

// What a visitor brings: mostly a segment as it should be, but for one thing.
base::descriptor make_segment(fuzz::input& in, bool& fits) {
  const auto how = in.take<std::uint8_t>();
  base::descriptor out{::memfd_create("fuzz", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  const std::uint64_t bytes =
      how % 4 == 0 ? test::boundary_words[in.take<std::uint8_t>() % test::boundary_words.size()] : where.bytes;
  const bool has_size = ::ftruncate(out.get(), static_cast<off_t>(bytes)) == 0 && bytes == where.bytes;
  const int seals = how % 8 < 6 ? F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL : how & 0xf & ~F_SEAL_WRITE;
  require(::fcntl(out.get(), F_ADD_SEALS, seals) == 0, "no seals");
  segment_header header{};
  header.magic = segment_magic;
  header.rank = 1;
  header.shape = job_shape;
  if (how >= 128) {
    const std::size_t offset = in.take<std::uint8_t>() % (offsetof(segment_header, live) - 8);
    const auto wild = in.take<std::uint64_t>();
    std::memcpy(reinterpret_cast<char*>(&header) + offset, &wild, sizeof wild);
  }
  // One that was not to grow stays as short as it is.
  const ssize_t written = ::pwrite(out.get(), &header, offsetof(segment_header, live), 0);
  fits = has_size && written == offsetof(segment_header, live) && (seals & F_SEAL_SHRINK) != 0 &&
         header.magic == segment_magic && header.rank == 1 && header.shape == job_shape;
  return out;
}

void send(int socket, std::span<const std::uint8_t> bytes, const std::vector<int>& files) {
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(8 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
  }
  require(::sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()), "nothing was sent");
}

void welcome_visitor(fuzz::input& in) {
  std::array<int, 2> ends{-1, -1};
  require(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0, "no sockets");
  base::descriptor mine{ends[0]}, visitors{ends[1]};
  bool fits = false;
  const base::descriptor file = make_segment(in, fits);
  const auto how = in.take<std::uint8_t>();
  const std::size_t count = how % 8 < 5 ? 1 : how % 8 - 5 + (how % 8 > 5 ? 1U : 0U);  // 0, 2 or 3
  greeting said{how % 16 < 8 ? password : secret{1}, how / 16 % 8 < 6 ? how / 16 % 4U : in.take<std::uint32_t>()};
  std::array<std::uint8_t, sizeof said + 8> bytes{};
  std::memcpy(bytes.data(), &said, sizeof said);
  const std::size_t size = how < 200 ? sizeof said : 1U + in.take<std::uint8_t>() % bytes.size();
  send(visitors.get(), std::span{bytes}.first(size), std::vector<int>(count, file.get()));
  if (how % 32 == 31) visitors = base::descriptor{};
  peer guest{host, 1, where};
  const bool is_due = size == sizeof said && count == 1 && how % 16 < 8 && said.rank == 1;
  try {
    const std::uint32_t process = process_behind(mine);
    greeting heard;
    const base::descriptor got = receive_with_descriptor(mine, heard, soon());
    require(size == sizeof said && count == 1 && heard.rank == said.rank, "another greeting");
    const bool expected = is_awaited(heard, password, host, job_shape.ranks);
    require(expected == (heard.password == password && (heard.rank == 1 || heard.rank == 2)), "another visitor");
    if (!expected || heard.rank != 1) return;
    segment mapped = segment::map(got, where.bytes);
    std::byte* const base = mapped.memory();
    guest.attach(base, std::move(mapped), std::move(mine), false, process);
    require(is_due && fits, "a segment was believed");
  } catch (const error& problem) {
    require(!(is_due && fits), problem.what());
  }
  require(guest.is_attached() == (is_due && fits), "attached, or not");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in{data, size};
  const int before = open_descriptors();
  read_invitation_of(in);
  do {
    welcome_visitor(in);
  } while (!in.is_empty());
  require(open_descriptors() == before, "a descriptor was left behind");
  return 0;
}
