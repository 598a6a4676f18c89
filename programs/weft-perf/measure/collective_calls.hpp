// SPDX-License-Identifier: BSD-3-Clause
// Collectives as a program writes them: a call each, with buffers that are used again and again.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "weft-perf/measure/content.hpp"
#include "weft-perf/report/point.hpp"
#include "weft/collectives.hpp"
#include "weft/group.hpp"

namespace weft::perf {

class collective_calls {
 public:
  collective_calls(weft::runtime& rt, group all, const point& measured)
      : group_{std::move(all)},
        measured_{measured},
        options_{.algorithm = measured.group.algorithm},
        input_{rt, memory::ordinary, measured.kind == kind::alltoall ? in_all() : measured.bytes, 1},
        out_{rt, memory::ordinary, in_all(), 1} {}

  /// The collective once; roots take turns by `number`. **Blocking**: until this rank's part is complete.
  void once(std::uint64_t number) {
    const auto root = static_cast<std::uint32_t>(number % group_.size());
    const const_buffer_ref input{input_[0].data(), input_[0].size()};
    switch (measured_.kind) {
      case kind::broadcast: return collective::broadcast(out(measured_.bytes), root).run(group_, options_);
      case kind::reduce: return collective::reduce(input, out(measured_.bytes), sums, root).run(group_, options_);
      case kind::allreduce: return collective::allreduce(input, out(measured_.bytes), sums).run(group_, options_);
      case kind::allgather: return collective::allgather(input, out(in_all())).run(group_, options_);
      case kind::alltoall: return collective::alltoall(input, out(in_all())).run(group_, options_);
      case kind::reduce_scatter:
        return collective::reduce_scatter(input, out(measured_.bytes / group_.size()), sums).run(group_, options_);
      default: return collective::barrier().run(group_, options_);
    }
  }

 private:
  static constexpr reduction sums = reduction::callable<double>(std::plus<>{});

  [[nodiscard]] std::size_t in_all() const noexcept { return measured_.bytes * group_.size(); }
  [[nodiscard]] buffer_ref out(std::size_t bytes) const noexcept { return {out_[0].data(), bytes}; }

  group group_;
  const point& measured_;
  collective_options options_;
  buffers input_;
  buffers out_;
};

}  // namespace weft::perf
