// SPDX-License-Identifier: BSD-3-Clause
// The types and operations whose reductions are measured.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <string>

#include "weft/collectives.hpp"

namespace weft::perf {

/// Calls `visit.operator()<Element, Callable>(name)` for each, in one order.
template <class Visit>
void each_reduction(Visit&& visit) {
  using std::string;
  const auto basic = [&]<class Element>(const string& type) {
    visit.template operator()<Element, std::plus<>>(type + " sum");
    visit.template operator()<Element, std::multiplies<>>(type + " product");
  };
  const auto ordered = [&]<class Element>(const string& type) {
    basic.template operator()<Element>(type);
    visit.template operator()<Element, reductions::min>(type + " min");
    visit.template operator()<Element, reductions::max>(type + " max");
  };
  const auto whole = [&]<class Element>(const string& type) {
    ordered.template operator()<Element>(type);
    visit.template operator()<Element, std::bit_and<>>(type + " bit and");
    visit.template operator()<Element, std::bit_or<>>(type + " bit or");
    visit.template operator()<Element, std::bit_xor<>>(type + " bit xor");
    visit.template operator()<Element, std::logical_and<>>(type + " logical and");
    visit.template operator()<Element, std::logical_or<>>(type + " logical or");
  };
  const auto located = [&]<class Value>(const string& type) {
    visit.template operator()<reductions::located<Value>, reductions::min_located>(type + " min with index");
    visit.template operator()<reductions::located<Value>, reductions::max_located>(type + " max with index");
  };
  whole.template operator()<std::int8_t>("int8");
  whole.template operator()<std::int16_t>("int16");
  whole.template operator()<std::int32_t>("int32");
  whole.template operator()<std::int64_t>("int64");
  whole.template operator()<std::uint8_t>("uint8");
  whole.template operator()<std::uint16_t>("uint16");
  whole.template operator()<std::uint32_t>("uint32");
  whole.template operator()<std::uint64_t>("uint64");
  ordered.template operator()<float>("float");
  ordered.template operator()<double>("double");
  basic.template operator()<std::complex<float>>("complex float");
  basic.template operator()<std::complex<double>>("complex double");
  located.template operator()<float>("float");
  located.template operator()<double>("double");
  located.template operator()<std::int32_t>("int32");
  located.template operator()<std::int64_t>("int64");
}

}  // namespace weft::perf
