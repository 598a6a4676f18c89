// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/datatype/contents.hpp"

#include <algorithm>

namespace weft::mpi {

namespace {

// The numbers of the arguments lie in the order of the narrow form: ints, then addresses.
std::int64_t addresses_of(const constructor_arguments& from) noexcept {
  switch (from.kind) {
    case combiner::hvector: return 1;
    case combiner::resized: return 2;
    case combiner::hindexed:
    case combiner::hindexed_block:
    case combiner::structure: return from.numbers[0];
    default: return 0;
  }
}

// Whether a number is an int in the wide form, too: ranks, dimensions, orders and the like.
bool is_always_int(const constructor_arguments& from, std::size_t index) noexcept {
  const std::size_t last = from.numbers.size() - 1;
  if (from.kind == combiner::subarray) return index == 0 || index == last;
  if (from.kind != combiner::darray) return false;
  const auto dimensions = static_cast<std::size_t>(from.numbers[2]);
  return index < 3 || index >= 3 + dimensions;
}

// Calls `integer(number)`, `address(number)` or `large(number)` for each number, in the order of the standard.
template <class Integer, class Address, class Large>
void each_number(const constructor_arguments& from, const Integer& integer, const Address& address,
                 const Large& large) {
  const std::size_t addresses_from = from.numbers.size() - static_cast<std::size_t>(addresses_of(from));
  for (std::size_t i = 0; i < from.numbers.size(); ++i) {
    const std::int64_t number = from.numbers[i];
    if (from.is_wide && !is_always_int(from, i)) {
      large(number);
    } else if (i >= addresses_from) {
      address(number);
    } else {
      integer(number);
    }
  }
}

}  // namespace

type_envelope envelope_of(const datatype& type) noexcept {
  type_envelope out{.types = static_cast<std::int64_t>(type.constructor().types.size()),
                    .kind = type.constructor().kind};
  const auto counting = [](std::int64_t& to) { return [&to](std::int64_t) { ++to; }; };
  each_number(type.constructor(), counting(out.integers), counting(out.addresses), counting(out.large_counts));
  return out;
}

error_class contents_of(const datatype& type, std::span<int> integers, std::span<std::int64_t> addresses,
                        std::span<std::int64_t> large_counts, std::span<const datatype*> types) noexcept {
  const type_envelope needed = envelope_of(type);
  if (needed.kind == combiner::named) return error_class::type;
  const auto is_short = [](const auto& list, std::int64_t count) { return std::ssize(list) < count; };
  if (is_short(integers, needed.integers) || is_short(addresses, needed.addresses) ||
      is_short(large_counts, needed.large_counts) || is_short(types, needed.types)) {
    return error_class::argument;
  }
  const auto writing = [](auto to) {
    return [next = to.begin()](std::int64_t number) mutable {
      *next++ = static_cast<typename decltype(to)::value_type>(number);
    };
  };
  auto integer = writing(integers);
  auto address = writing(addresses), large = writing(large_counts);
  each_number(
      type.constructor(), [&](std::int64_t number) { integer(number); }, [&](std::int64_t number) { address(number); },
      [&](std::int64_t number) { large(number); });
  std::ranges::transform(type.constructor().types, types.begin(),
                         [](const datatype_ref& each) { return datatype_ref{each}.release(); });
  return error_class::success;
}

}  // namespace weft::mpi
