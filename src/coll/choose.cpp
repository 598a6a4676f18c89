// Which algorithm a collective uses: the one that is asked for, or the first of the table that can do it.
#include <fmt/format.h>

#include <string>

#include "coll/run.hpp"
#include "weft/error.hpp"

namespace weft::coll {

namespace {

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
  bool is_there = false;
  for (const algorithm& each : algorithms()) {
    if (each.operation != of.operation || (!wanted.empty() && each.name != wanted)) continue;
    is_there = true;
    if (each.can == nullptr || each.can(of)) return each;
  }
  refuse(of, wanted, is_there);
}

}  // namespace weft::coll
