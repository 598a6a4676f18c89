// SPDX-License-Identifier: BSD-3-Clause
#include "coll/run/run_cache.hpp"

#include <algorithm>
#include <utility>

namespace weft::coll {

run_cache& run_cache::instance(group_state& group) {
  if (group.runs() == nullptr) [[unlikely]]
    group.runs() = std::make_unique<run_cache>();
  return static_cast<run_cache&>(*group.runs());
}

persistent_run* run_cache::find(const algorithm& algorithm, const collective_args& args, const reduction& reduction) {
  const std::size_t looks = std::min(runs_.size(), few);
  for (std::size_t i = 0; i < looks; ++i) {
    if (next_ >= runs_.size()) next_ = 0;
    if (!runs_[next_]->is_running() && runs_[next_]->matches(algorithm, args, reduction)) return runs_[next_].get();
    ++next_;
  }
  return nullptr;
}

persistent_run& run_cache::add(std::unique_ptr<persistent_run> run) {
  const std::size_t looks = std::min(runs_.size(), few);
  for (std::size_t index = next_, i = 0; i < looks && runs_.size() >= few; ++i) {
    index = (index != 0 ? std::min(index, runs_.size()) : runs_.size()) - 1;
    if (runs_[index]->is_running()) continue;
    std::swap(runs_[index], runs_.back());
    runs_.pop_back();
  }
  return *runs_.emplace_back(std::move(run));
}

void run_cache::end_refusals() {
  std::erase_if(runs_, [](const auto& each) { return each->tells_refusal() && !each->is_running(); });
}

bool run_cache::is_running() const noexcept {
  return std::ranges::any_of(runs_, [](const auto& each) { return each->is_running(); });
}

void run_cache::abandon() noexcept {
  std::erase_if(runs_, [](const auto& each) { return each->is_running(); });
}

}  // namespace weft::coll
