#include "core/runtime/job.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/assertion.hpp"
#include "base/random.hpp"
#include "weft/error.hpp"

namespace weft::core {
namespace {

// Rank 0 publishes it; all ranks take or compare it.
struct job_proposal {
  std::uint64_t number;
  std::uint64_t regions_max;
};

}  // namespace

void job::propose(const std::string& name, const std::vector<std::unique_ptr<net::transport>>& transports) {
  key_ = name + ".job";
  number_ = base::random_word();
  const job_proposal mine{number_, settings_.regions_max};
  if (rank_ == 0 && size_ > 1) bootstrap_->put(key_, {reinterpret_cast<const char*>(&mine), sizeof mine});
  nodes_.publish(*bootstrap_, name, transports);
}

void job::join() {
  WEFT_ASSERT(!key_.empty());
  bootstrap_->fence();
  nodes_.learn(*bootstrap_);
  if (size_ == 1) return;
  const std::string agreed = bootstrap_->get(0, key_);
  job_proposal theirs{};
  if (agreed.size() != sizeof theirs) {
    throw error{errc::boot_failed, "rank 0 published no name of the job: do all ranks use the same version of Weft?"};
  }
  std::memcpy(&theirs, agreed.data(), sizeof theirs);
  number_ = theirs.number;
  const std::uint32_t mine = settings_.regions_max;
  if (theirs.regions_max != mine) {  // a peer finds a region by its place in a table of that size
    throw error{errc::configuration,
                fmt::format("rank {} has WEFT_REGIONS_MAX={} and rank 0 has {}: give all ranks the same", rank_, mine,
                            theirs.regions_max)};
  }
}

}  // namespace weft::core
