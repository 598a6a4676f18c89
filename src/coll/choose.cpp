// Which algorithm a collective uses: the one that is asked for, or the first rule of its operation that fits.
//
// The rules follow the formulas at the heads of the algorithms: few rounds where messages are short, few bytes where
// they are long.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

#include "coll/run.hpp"
#include "coll/straight.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t any = ~std::uint64_t{0};

// Where ranks share cores each wait costs a turn of all ranks of a core: algorithms in which a rank waits once are best
// up to this.
constexpr std::uint64_t linear_bytes_max = 4 * kib;

struct rule {
  coll::operation operation;
  std::uint64_t bytes_max;    // of a block
  std::uint32_t members_min;  // of the group
  std::string_view algorithm;
};

constexpr std::array rules{
    rule{operation::barrier, any, 1, "dissemination"},
    rule{operation::broadcast, 64 * kib, 1, "binomial"},
    rule{operation::broadcast, any, 4, "scatter-allgather"},
    rule{operation::broadcast, any, 1, "binomial"},
    rule{operation::reduce, 32 * kib, 1, "binomial"},
    rule{operation::reduce, any, 4, "rabenseifner"},
    rule{operation::reduce, any, 1, "binomial"},
    rule{operation::allreduce, 16 * kib, 1, "recursive-doubling"},
    rule{operation::allreduce, any, 1, "rabenseifner"},
    rule{operation::gather, kib, 4, "binomial"},
    rule{operation::gather, any, 1, "linear"},
    rule{operation::scatter, kib, 4, "binomial"},
    rule{operation::scatter, any, 1, "linear"},
    rule{operation::allgather, 4 * kib, 1, "recursive-doubling"},
    rule{operation::allgather, 4 * kib, 1, "bruck"},
    rule{operation::allgather, any, 1, "ring"},
    rule{operation::allgather, any, 1, "bruck"},
    rule{operation::alltoall, 256, 16, "bruck"},
    rule{operation::alltoall, 32 * kib, 1, "linear"},
    rule{operation::alltoall, any, 1, "pairwise"},
    rule{operation::reduce_scatter, 4 * kib, 1, "recursive-halving"},
    rule{operation::reduce_scatter, any, 1, "pairwise"},
    rule{operation::scan, any, 1, "recursive-doubling"},
    rule{operation::exscan, any, 1, "recursive-doubling"},
};

// Null: there is none. Otherwise `can` says whether it can do this.
const algorithm* find(const shape& of, std::string_view name, bool& can) noexcept {
  for (const algorithm& each : algorithms()) {
    if (each.operation != of.operation || each.name != name) continue;
    can = each.can == nullptr || each.can(of);
    return &each;
  }
  return nullptr;
}

[[noreturn]] void refuse(const shape& of, std::string_view wanted, bool is_there) {
  std::string names;
  for (const algorithm& each : algorithms()) {
    if (each.operation == of.operation) names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw error{errc::invalid_argument,
              fmt::format("{}: {} '{}'; there are {}", name_of(of.operation),
                          is_there ? "this can't be done by algorithm" : "there is no algorithm", wanted, names)};
}

}  // namespace

const algorithm& choose(const shape& of, std::string_view wanted) {
  bool can = false;
  if (!wanted.empty()) {
    const algorithm* const found = find(of, wanted, can);
    if (found == nullptr || !can) refuse(of, wanted, found != nullptr);
    return *found;
  }
  if (of.is_crowded && of.size <= straight::linear_members_max && of.block_bytes <= linear_bytes_max) {
    const algorithm* const found = find(of, "linear", can);
    const bool is_short = of.operation == operation::barrier || of.operation == operation::broadcast ||
                          of.operation == operation::allreduce || of.operation == operation::reduce;
    if (is_short && found != nullptr) return *found;
  }
  for (const rule& each : rules) {
    if (each.operation != of.operation || of.block_bytes > each.bytes_max || of.size < each.members_min) continue;
    const algorithm* const found = find(of, each.algorithm, can);
    if (found != nullptr && can) return *found;
  }
  // Lists of blocks and order leave fewer algorithms: the first that can.
  for (const algorithm& each : algorithms()) {
    if (each.operation == of.operation && (each.can == nullptr || each.can(of))) return each;
  }
  refuse(of, "", false);
}

}  // namespace weft::coll
