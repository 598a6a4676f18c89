// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/communicator/machines.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <unordered_map>

namespace weft::mpi {
namespace {

// FNV-1a, as ranks have to get one number.
std::uint64_t hash_of(const std::string& text) noexcept {
  std::uint64_t out = 0xcbf2'9ce4'8422'2325U;
  for (const char each : text) out = (out ^ static_cast<unsigned char>(each)) * 0x100'0000'01b3U;
  return out;
}

// Sets of members, each named by its lowest one.
class member_sets {
 public:
  explicit member_sets(std::size_t members) : lower_(members) {
    for (std::size_t index = 0; index < members; ++index) lower_[index] = static_cast<std::uint32_t>(index);
  }
  std::uint32_t lowest(std::uint32_t member) noexcept {
    while (lower_[member] != member) member = lower_[member] = lower_[lower_[member]];
    return member;
  }
  void join(std::uint32_t a, std::uint32_t b) noexcept {
    const auto [lower, upper] = std::minmax({lowest(a), lowest(b)});
    lower_[upper] = lower;
  }

 private:
  std::vector<std::uint32_t> lower_;
};

}  // namespace

std::uint64_t own_machine() {
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  std::string start;
  if (!std::getline(file, start) || start.empty()) return 0;
  utsname system{};
  if (::uname(&system) == 0) start += system.nodename;
  return std::max<std::uint64_t>(hash_of(start), 1);
}

std::vector<std::uint32_t> numbers_of_machines(std::span<const machine_of_member> members) {
  member_sets sets{members.size()};
  std::unordered_map<std::uint64_t, std::uint32_t> machine_members, node_members;
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    sets.join(index, node_members.try_emplace(members[index].node, index).first->second);
    if (members[index].machine != 0)
      sets.join(index, machine_members.try_emplace(members[index].machine, index).first->second);
  }
  std::vector<std::uint32_t> out;
  for (std::uint32_t index = 0; index < members.size(); ++index) out.push_back(sets.lowest(index));
  return out;
}

}  // namespace weft::mpi
