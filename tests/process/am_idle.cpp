// SPDX-License-Identifier: BSD-3-Clause
// A rank that has all that a runtime needs and does nothing, and says what it holds: tests/memory runs it.
//   am_idle DIRECTORY once     writes DIRECTORY/rank-N and ends
//   am_idle DIRECTORY forever  writes it and sends messages until it is killed
// by script
#include <dirent.h>
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "process/am_load.hpp"

namespace {

using weft::test::require;

std::string proportional_set_size() {
  std::ifstream facts{"/proc/self/smaps_rollup"};
  for (std::string line; std::getline(facts, line);) {
    if (line.starts_with("Pss:")) return line.substr(4);
  }
  return " unknown";
}

// The names of this process's sockets in the abstract namespace.
std::string own_sockets() {
  std::string own;
  DIR* folder = ::opendir("/proc/self/fd");
  require(folder != nullptr, "/proc/self/fd can't be read");
  while (const dirent* entry = ::readdir(folder)) {
    char target[256] = {};
    const std::string link = std::string{"/proc/self/fd/"} + entry->d_name;
    if (::readlink(link.c_str(), target, sizeof target - 1) > 0) own += std::string{target} + "\n";
  }
  ::closedir(folder);
  std::ifstream table{"/proc/net/unix"};
  std::string out;
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields{line};
    std::string skipped, inode, name;
    for (int i = 0; i < 6; ++i) fields >> skipped;
    fields >> inode >> name;
    if (!name.empty() && own.find("socket:[" + inode + "]\n") != own.npos) out += "socket " + name + "\n";
  }
  return out;
}

std::string files_mapped_from_shared_memory() {
  std::ifstream maps{"/proc/self/maps"};
  std::string out;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/dev/shm") != line.npos) out += "file " + line + "\n";
  }
  return out;
}

void send_until_killed(weft::runtime& rt) {
  weft::counter inbox{rt}, sent{rt};
  const auto arrivals = rt.register_completion(inbox, {.id = 1});
  const std::vector<std::byte> payload(5000);
  ::alarm(100);
  for (;;) {
    for (std::uint32_t peer = 0; peer < rt.size(); ++peer) {
      static_cast<void>(rt.default_device().post_am(peer, {1}, payload, sent));
    }
    rt.default_device().progress();
    ::usleep(1000);
  }
}

}  // namespace

int main(int count, char** arguments) {
  require(count == 3, "am_idle DIRECTORY once|forever");
  return weft::test::run_rank([&](weft::runtime& rt) {
    rt.barrier();
    const std::string name = fmt::format("{}/rank-{}", arguments[1], rt.rank());
    {
      std::ofstream out{name + ".part"};
      out << "pid " << ::getpid() << "\nparent " << ::getppid() << "\npss" << proportional_set_size() << "\n"
          << own_sockets() << files_mapped_from_shared_memory();
      require(out.good(), "can't write " + name);
    }
    require(std::rename((name + ".part").c_str(), name.c_str()) == 0, "can't name " + name);
    rt.barrier();  // all are there while each is measured
    if (std::string{arguments[2]} == "forever") send_until_killed(rt);
  });
}
