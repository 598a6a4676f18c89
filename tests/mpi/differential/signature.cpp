// SPDX-License-Identifier: BSD-3-Clause
#include "signature.hpp"

#include "basic_types.hpp"
#include "scene.hpp"

namespace differential {

std::size_t signature::elements() const {
  if (basic >= 0) return 1;
  std::size_t sum = 0;
  for (const signature& each : parts) sum += each.elements();
  return sum * static_cast<std::size_t>(times);
}

void signature::append_to(std::vector<int>& out) const {
  if (basic >= 0) return out.push_back(basic);
  for (int i = 0; i < times; ++i) {
    for (const signature& each : parts) each.append_to(out);
  }
}

signature signature::repeated(int more) const { return {-1, more, {*this}}; }

signature random_signature(random_source& random, int depth) {
  if (depth == 0 || random.chance(20)) {
    const int basic = random.between(0, static_cast<int>(basic_types().size()) - 1);
    const bool is_complex = basic_types()[static_cast<std::size_t>(basic)].of == family::complex;
    return signature_of(is_complex && is_left_out("complex") ? 0 : basic);
  }
  signature out;
  out.times = random.chance(40) ? 1 : random.between(1, 6);
  const int parts = random.chance(40) ? 1 : random.between(2, 4);
  for (int i = 0; i < parts; ++i) out.parts.push_back(random_signature(random, depth - 1));
  return out;
}

}  // namespace differential
