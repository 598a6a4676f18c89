// SPDX-License-Identifier: BSD-3-Clause
// What a report of a process in which nothing moves says about collectives: which call waits for which rank, and which
// call of other members this rank has not made.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "coll/group/group_list.hpp"
#include "core/door/door.hpp"
#include "weft/detail/copy_mark.hpp"

namespace weft::coll {

class group_report final : public core::group_describer {
 public:
  group_report(core::runtime_state& owner, group_list& groups) noexcept;
  ~group_report();
  group_report(const group_report&) = delete;
  group_report& operator=(const group_report&) = delete;

  void describe(base::report& into, std::span<const core::unmatched_step> steps,
                const detail::report_names* names) override;

 private:
  // The unmatched messages of one collective.
  struct call {
    std::set<std::uint32_t> awaited;  // ranks whose messages receives wait for
    std::set<std::uint32_t> sources;  // ranks whose messages no receive takes
  };
  using calls = std::map<std::uint64_t, call>;  // the key is the number

  core::runtime_state& owner_;
  group_list& groups_;
  detail::copy_mark copy_;
};

}  // namespace weft::coll
