// SPDX-License-Identifier: BSD-3-Clause
// Compiled with -O3 (cmake/programs.cmake).
#include "weft-perf/measure/loops.hpp"

#include "weft-perf/measure/typed_reductions.hpp"

namespace weft::perf {
namespace {

template <class Element, class Callable>
void loop(const void* input, void* inout, std::size_t count) {
  const auto* __restrict const from = static_cast<const Element*>(input);
  auto* __restrict const into = static_cast<Element*>(inout);
  for (std::size_t i = 0; i < count; ++i) into[i] = static_cast<Element>(Callable{}(from[i], into[i]));
}

}  // namespace

std::vector<reducing_loop> vectorized_loops() {
  std::vector<reducing_loop> out;
  each_reduction([&]<class Element, class Callable>(const std::string&) { out.push_back(loop<Element, Callable>); });
  return out;
}

}  // namespace weft::perf
