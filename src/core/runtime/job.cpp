// SPDX-License-Identifier: BSD-3-Clause
#include "core/runtime/job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/assertion.hpp"
#include "base/random.hpp"
#include "core/runtime/agreed_settings.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// What each rank publishes, and what rank 0 answers: a number, a byte that says whether ranks are more than processors,
// and behind it which settings differ.
constexpr const char* settings_key = ".settings";
constexpr const char* answer_key = ".job";
constexpr std::size_t answer_bytes = sizeof(std::uint64_t) + 1;

}  // namespace

// Rank 0 compares for all ranks, so that each rank reads one value, and all ranks end with one text.
void job::agree(const std::string& name) {
  WEFT_ASSERT(number_ == 0);
  do {
    number_ = base::random_word();
  } while (number_ == 0);
  if (size_ == 1) return;
  static_assert(sizeof number_ + 1 == answer_bytes);
  bootstrap_->put(name + settings_key, published_settings(settings_));
  bootstrap_->fence();
  if (rank_ == 0) bootstrap_->put(name + answer_key, answer(name));
  bootstrap_->fence();
  const std::string agreed = bootstrap_->get(0, name + answer_key);
  if (agreed.size() < answer_bytes) {
    throw error{errc::boot_failed, "rank 0 published no number of the job: do all ranks use the same version of Weft?"};
  }
  std::memcpy(&number_, agreed.data(), sizeof number_);
  is_beyond_processors_ = agreed[sizeof number_] != 0;
  if (agreed.size() == answer_bytes) return;
  throw error{errc::configuration,
              fmt::format("the ranks of the job have different settings: {}; give all ranks the same",
                          agreed.substr(answer_bytes))};
}

std::string job::answer(const std::string& name) {
  std::vector<std::string> published;
  for (std::uint32_t rank = 0; rank < size_; ++rank) published.push_back(bootstrap_->get(rank, name + settings_key));
  std::string out(sizeof number_, '\0');
  std::memcpy(out.data(), &number_, sizeof number_);
  out += are_beyond_processors(published) ? '\1' : '\0';
  out += differences(published);
  out.resize(std::min(out.size(), boot::value_bytes_max));
  return out;
}

void job::publish_node(const std::string& name, const std::vector<std::unique_ptr<net::transport>>& transports) {
  nodes_.publish(*bootstrap_, name, transports);
}

void job::join() {
  WEFT_ASSERT(number_ != 0);
  bootstrap_->fence();
  nodes_.learn(*bootstrap_);
}

}  // namespace weft::core
