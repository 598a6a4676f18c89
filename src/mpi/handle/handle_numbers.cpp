// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/handle/handle_numbers.hpp"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace weft::mpi {
namespace {

// An address keeps its number when its object ends: the next object at that address has the number, too. So there are
// no more of them than addresses.
struct numbers {
  std::mutex mutex;
  std::unordered_map<void*, int> indices;
  std::vector<void*> addresses;
};

numbers& all() {
  static numbers& out = *new numbers;  // never destroyed: the last functions of a process may call MPI
  return out;
}

constexpr int first_number = static_cast<int>(predefined_handles_end);

}  // namespace

int number_of_address(void* address) noexcept {
  if (is_predefined(address)) return static_cast<int>(number_of(address));
  const std::lock_guard locked{all().mutex};
  const int next = first_number + static_cast<int>(all().addresses.size());
  const auto [found, is_new] = all().indices.try_emplace(address, next);
  if (is_new) all().addresses.push_back(address);
  return found->second;
}

void* address_of_number(int number) noexcept {
  if (number < first_number) return reinterpret_cast<void*>(static_cast<std::uintptr_t>(number));
  const std::lock_guard locked{all().mutex};
  const auto index = static_cast<std::size_t>(number - first_number);
  return index < all().addresses.size() ? all().addresses[index] : nullptr;
}

}  // namespace weft::mpi
