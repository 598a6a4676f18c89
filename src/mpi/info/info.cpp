// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/info/info.hpp"

#include <algorithm>
#include <memory>

namespace weft::mpi {
namespace {

template <class Pairs>
auto find_pair_of(Pairs& pairs, std::string_view key) noexcept {
  return std::ranges::find_if(pairs, [key](const auto& each) { return each.first == key; });
}

}  // namespace

info::list info::pairs() const {
  const std::lock_guard locked{mutex_};
  return pairs_;
}

void info::set(std::string_view key, std::string_view value) {
  const std::lock_guard locked{mutex_};
  if (const auto found = find_pair_of(pairs_, key); found != pairs_.end()) {
    found->second = value;
  } else {
    pairs_.emplace_back(key, value);
  }
}

std::optional<std::string> info::find(std::string_view key) const {
  const std::lock_guard locked{mutex_};
  const auto found = find_pair_of(pairs_, key);
  return found != pairs_.end() ? std::optional{found->second} : std::nullopt;
}

bool info::erase(std::string_view key) {
  const std::lock_guard locked{mutex_};
  const auto found = find_pair_of(pairs_, key);
  if (found == pairs_.end()) return false;
  pairs_.erase(found);
  return true;
}

std::size_t info::size() const noexcept {
  const std::lock_guard locked{mutex_};
  return pairs_.size();
}

std::optional<std::string> info::key(std::size_t index) const {
  const std::lock_guard locked{mutex_};
  return index < pairs_.size() ? std::optional{pairs_[index].first} : std::nullopt;
}

info* find_info(MPI_Info handle) noexcept {
  if (is_predefined(handle)) return nullptr;
  auto* const found = reinterpret_cast<info*>(handle);
  return found->kind_ == object_kind::info ? found : nullptr;
}

MPI_Info new_handle(std::unique_ptr<info> made) noexcept { return reinterpret_cast<MPI_Info>(made.release()); }

}  // namespace weft::mpi
