// SPDX-License-Identifier: BSD-3-Clause
// The PMI-1 client: one socket inherited from the launcher, a line for each request, a line for each reply.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <mutex>

#include "base/clock.hpp"
#include "base/descriptor.hpp"
#include "boot/backends.hpp"
#include "boot/pmi1_wire.hpp"
#include "weft/error.hpp"

namespace weft::boot {
namespace {

using base::clock;
using pmi1_wire::message;

// Lines of other implementations are no longer than this, whatever they say about their values.
constexpr std::size_t line_bytes_max = 1000;

// How long weft-run may take to say who is missing in a fence.
constexpr auto answer_time = std::chrono::seconds{15};

class pmi1_client final : public bootstrap {
 public:
  explicit pmi1_client(const pmi1_options& options)
      : rank_{options.rank}, size_{options.size}, timeout_{options.timeout}, process_{::getpid()} {
    struct stat status {};
    if (::fstat(options.fd, &status) != 0 || !S_ISSOCK(status.st_mode)) {
      throw error{
          errc::boot_failed,
          fmt::format(
              "pmi1: rank {0} of {1}: PMI_FD={2} is not an open socket: a program between the launcher and this "
              "one, such as a wrapper script, has closed descriptor {2}; let it pass that on (in Python: "
              "subprocess with close_fds=False or pass_fds; sudo: -C), or wrap the launcher instead; a program "
              "that is no rank, and has only inherited a rank's environment, runs alone with WEFT_BOOT=single",
              rank_, size_, options.fd)};
    }
    server_ = base::descriptor{options.fd};
    ::fcntl(server_.get(), F_SETFD, FD_CLOEXEC);  // the launcher speaks to this process, not to its children
    shake_hands();
  }

  ~pmi1_client() override {
    if (::getpid() != process_) return;  // a forked child that ends doesn't take its parent's leave
    try {
      const std::lock_guard lock{mutex_};
      if (!broken_) (void)ask("cmd=finalize", "finalize_ack");
    } catch (...) {  // the launcher is gone, and with it whom to tell
    }
  }

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return size_; }
  const char* name() const noexcept override { return "pmi1"; }

  void put(std::string_view key, std::string_view bytes) override {
    check_value(key, bytes);
    const std::lock_guard lock{mutex_};
    const std::string text = pmi1_wire::encode(bytes);
    const std::size_t chunk = chunk_bytes(key);
    const std::size_t chunks = std::max<std::size_t>(1, (text.size() + chunk - 1) / chunk);
    for (std::size_t i = 0; i < chunks; ++i) {
      const std::string head = i == 0 ? fmt::format("{}.", chunks) : std::string{};
      const message reply = ask(fmt::format("cmd=put kvsname={} key={} value={}{}", kvs_, wire_key(rank_, key, i), head,
                                            std::string_view{text}.substr(i * chunk, chunk)),
                                "put_result");
      if (reply.find_number("rc").value_or(0) != 0) {
        const auto why = reply.find("msg");
        fail(fmt::format("refuses key '{}': {} (a key is put once)", key,
                         why ? pmi1_wire::printable(*why) : "no reason"));
      }
    }
  }

  std::string get(std::uint32_t rank, std::string_view key) override {
    check_rank(rank, size_);
    check_key(key);
    const std::lock_guard lock{mutex_};
    std::string text = get_chunk(rank, key, 0);
    const std::size_t dot = text.find('.');
    const auto chunks = dot == text.npos ? std::nullopt : number_in(std::string_view{text}.substr(0, dot));
    if (!chunks || *chunks < 1 || *chunks > value_bytes_max) {
      fail(fmt::format("has a malformed value of rank {} under '{}'", rank, key));
    }
    text.erase(0, dot + 1);
    for (std::size_t i = 1; i < *chunks; ++i) text += get_chunk(rank, key, i);
    auto bytes = pmi1_wire::decode(text);
    if (!bytes) fail(fmt::format("has a malformed value of rank {} under '{}'", rank, key));
    return *std::move(bytes);
  }

  void fence() override {
    const std::lock_guard lock{mutex_};
    send("cmd=barrier_in");
    const auto reply = receive(clock::now() + timeout_);
    if (reply) return expect(*reply, "barrier_out");
    const std::optional<std::string> missing = ask_who_is_missing();
    if (!missing) return;  // the others have come meanwhile
    broken_ = true;
    throw error{errc::boot_failed,
                fmt::format("pmi1: rank {} of {} waited {} s in a fence for the others: {} (WEFT_BOOT_TIMEOUT_S is the "
                            "bound)",
                            rank_, size_, seconds(), *missing)};
  }

 private:
  void shake_hands() {
    const message reply = ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init");
    if (reply.find_number("rc").value_or(0) != 0 || reply.find_number("pmi_version").value_or(1) != 1) {
      fail("does not speak version 1 of the protocol; with srun, use --mpi=pmi2 or start through mpiexec.hydra");
    }
    knows_who_is_missing_ = reply.find("launcher") == "weft-run";
    const message maxes = ask("cmd=get_maxes", "maxes");
    key_bytes_max_ = bound(maxes, "keylen_max", 8);
    value_bytes_max_ = bound(maxes, "vallen_max", 64);
    const message named = ask("cmd=get_my_kvsname", "my_kvsname");
    const auto kvs = named.find("kvsname");
    if (!kvs || kvs->empty()) fail("names no key-value space");
    kvs_ = *kvs;
  }

  std::size_t bound(const message& maxes, std::string_view key, long least) {
    const auto value = maxes.find_number(key);
    if (!value || *value < least) fail(fmt::format("offers no usable {}", key));
    return static_cast<std::size_t>(*value) - 1;  // theirs count a final zero
  }

  std::string wire_key(std::uint32_t rank, std::string_view key, std::size_t chunk) {
    std::string text = fmt::format("{}-{}-{}", rank, key, chunk);
    if (text.size() > key_bytes_max_) {
      throw error{errc::invalid_argument,
                  fmt::format("pmi1: key '{}' is too long for this launcher, which carries {}", key, key_bytes_max_)};
    }
    return text;
  }

  // What fits beside the rest of the line and, in the first chunk, the number of chunks.
  std::size_t chunk_bytes(std::string_view key) const {
    const std::size_t beside = sizeof "cmd=put kvsname= key= value=\n" + kvs_.size() + key.size() + 24;
    const std::size_t room = beside + 32 < line_bytes_max ? line_bytes_max - beside : 32;
    return std::min(room, value_bytes_max_ - 8);
  }

  static std::optional<std::size_t> number_in(std::string_view text) {
    std::size_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  std::string get_chunk(std::uint32_t rank, std::string_view key, std::size_t chunk) {
    const message reply = ask(fmt::format("cmd=get kvsname={} key={}", kvs_, wire_key(rank, key, chunk)), "get_result");
    const auto value = reply.find("value");
    if (reply.find_number("rc").value_or(0) != 0 || !value) throw_no_value(*this, rank, key);
    return std::string{*value};
  }

  message ask(const std::string& request, std::string_view reply_command) {
    send(request);
    auto reply = receive(clock::now() + timeout_);
    if (!reply) fail(fmt::format("does not answer '{}' within {} s", pmi1_wire::printable(request), seconds()));
    expect(*reply, reply_command);
    return *std::move(reply);
  }

  void expect(const message& reply, std::string_view command) {
    if (reply.command() != command) {
      fail(fmt::format("answers '{}' where '{}' was expected", pmi1_wire::printable(reply.command()), command));
    }
  }

  void send(const std::string& request) {
    if (broken_) fail("is not to be used any more after an earlier failure");
    const std::string line = request + '\n';
    const auto deadline = clock::now() + timeout_;
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t n = ::send(server_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n >= 0)
        sent += static_cast<std::size_t>(n);
      else if (errno == EAGAIN) {
        if (!wait_for(POLLOUT, deadline)) fail(fmt::format("takes no request for {} s", seconds()));
      } else if (errno != EINTR) {
        fail_closed(errno);
      }
    }
  }

  // Nothing if there is no line by the deadline.
  std::optional<message> receive(clock::time_point deadline) {
    for (;;) {
      if (const auto line = lines_.next()) {
        auto parsed = message::parse(*line);
        if (!parsed) fail(fmt::format("answers '{}', which is no line of PMI-1", pmi1_wire::printable(*line)));
        return parsed;
      }
      if (lines_.overrun()) fail("answers without end");
      if (!wait_for(POLLIN, deadline)) return std::nullopt;
      std::array<char, 4096> bytes;
      const ssize_t n = ::recv(server_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (n > 0)
        lines_.append({bytes.data(), static_cast<std::size_t>(n)});
      else if (n == 0)
        fail("has closed the connection; has another rank ended, or the launcher?");
      else if (errno != EINTR && errno != EAGAIN)
        fail(fmt::format("is gone: {}", std::strerror(errno)));
    }
  }

  // False at the deadline.
  bool wait_for(short events, clock::time_point deadline) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(clock::left_to_sleep(deadline)).count();
      pollfd entry{server_.get(), events, 0};
      const int n = ::poll(&entry, 1, static_cast<int>(std::clamp<long long>(left, 0, 1 << 30)));
      if (n > 0) return true;
      if (n == 0 && left <= 0) return false;
      if (n < 0 && errno != EINTR) fail(fmt::format("can't be waited for: {}", std::strerror(errno)));
    }
  }

  // Called after a fence that took too long; nothing if it has ended meanwhile. Only weft-run can tell; the protocol
  // itself has no word for it.
  std::optional<std::string> ask_who_is_missing() {
    const std::string unknown = "PMI-1 does not tell which; do all of them make a runtime?";
    if (!knows_who_is_missing_) return unknown;
    send("cmd=weft_missing");
    const auto deadline = clock::now() + answer_time;
    auto reply = receive(deadline);
    const bool has_ended = reply && reply->command() == "barrier_out";
    if (has_ended) reply = receive(deadline);
    if (!reply) return std::string{"weft-run does not answer, either; is it stopped?"};
    expect(*reply, "weft_missing");
    if (has_ended) return std::nullopt;
    const auto ranks = reply->find("ranks");
    if (!ranks) return unknown;
    std::string list = pmi1_wire::printable(*ranks);
    std::replace(list.begin(), list.end(), '_', ' ');  // no value holds a blank on the wire
    return "missing are ranks " + list;
  }

  double seconds() const { return static_cast<double>(timeout_.count()) / 1000; }

  [[noreturn]] void fail_closed(int cause) {
    fail(fmt::format("has closed the connection ({}); has another rank ended, or the launcher?", std::strerror(cause)));
  }

  [[noreturn]] void fail(const std::string& problem) {
    broken_ = true;
    throw error{errc::boot_failed, fmt::format("pmi1: rank {} of {}: the launcher's PMI server (PMI_FD={}) {}", rank_,
                                               size_, server_.get(), problem)};
  }

  std::mutex mutex_;
  base::descriptor server_;
  std::uint32_t rank_;
  std::uint32_t size_;
  std::chrono::milliseconds timeout_;
  pid_t process_;
  bool broken_ = false;
  bool knows_who_is_missing_ = false;
  std::size_t key_bytes_max_ = 0;
  std::size_t value_bytes_max_ = 0;
  std::string kvs_;
  pmi1_wire::line_reader lines_;
};

}  // namespace

std::shared_ptr<bootstrap> make_pmi1(const pmi1_options& options) { return std::make_shared<pmi1_client>(options); }

}  // namespace weft::boot
