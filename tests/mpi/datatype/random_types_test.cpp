// SPDX-License-Identifier: BSD-3-Clause
// Random nested types against their models: sizes and bounds, data packed and unpacked in random pieces, elements of
// partial data, buffers as messages see them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "mpi/datatype/construct.hpp"
#include "mpi/datatype/elements.hpp"
#include "mpi/datatype/random_type.hpp"
#include "support/random_seed.hpp"

namespace weft::test {
namespace {

constexpr int types_of_a_run = under_sanitizer ? 400 : 4000;

void expect_bounds_of_the_model(const modelled_type& one) {
  const mpi::datatype& type = *one.type;
  EXPECT_EQ(type.size(), one.model.size());
  EXPECT_EQ(type.lower_bound(), one.model.lower_bound());
  EXPECT_EQ(type.extent(), one.model.extent());
  EXPECT_EQ(type.true_lower_bound(), one.model.true_lower_bound());
  EXPECT_EQ(type.true_extent(), one.model.true_upper_bound() - one.model.true_lower_bound());
}

// Memory that has all bytes of `count` elements, between guards; every byte differs from its neighbours.
class memory_of_elements {
 public:
  memory_of_elements(const type_model& model, std::int64_t count) : offsets_{model.bytes_of(count)} {
    if (!offsets_.empty()) {
      first_ = std::ranges::min(offsets_) - guard;
      bytes_.resize(static_cast<std::size_t>(std::ranges::max(offsets_) - first_ + 1 + guard));
    }
    std::iota(reinterpret_cast<unsigned char*>(bytes_.data()),
              reinterpret_cast<unsigned char*>(bytes_.data()) + bytes_.size(), 17);
  }

  // Of the element; the bytes may lie far from it.
  [[nodiscard]] std::byte* address() {
    return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(bytes_.data()) -
                                        static_cast<std::uintptr_t>(first_));
  }
  [[nodiscard]] std::vector<std::byte> packed() const {
    std::vector<std::byte> out;
    for (const std::int64_t each : offsets_) out.push_back(bytes_[static_cast<std::size_t>(each - first_)]);
    return out;
  }
  void store(const std::vector<std::byte>& packed) {
    for (std::size_t i = 0; i < packed.size(); ++i) bytes_[static_cast<std::size_t>(offsets_[i] - first_)] = packed[i];
  }
  [[nodiscard]] bool overlaps() const {
    return std::set<std::int64_t>(offsets_.begin(), offsets_.end()).size() != offsets_.size();
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr std::int64_t guard = 40;
  std::vector<std::int64_t> offsets_;
  std::int64_t first_ = 0;
  std::vector<std::byte> bytes_;
};

// Begins and ends of pieces of `bytes` bytes, in random order.
std::vector<std::pair<std::size_t, std::size_t>> random_pieces(generator& random, std::size_t bytes) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  const auto longest = static_cast<std::int64_t>(std::max<std::size_t>(1, bytes >> between(random, 0, 6)));
  for (std::size_t begin = 0; begin < bytes;) {
    const std::size_t length = std::min(bytes - begin, static_cast<std::size_t>(between(random, 1, longest)));
    out.emplace_back(begin, begin + length);
    begin += length;
  }
  std::ranges::shuffle(out, random);
  return out;
}

void expect_data_of_the_model(const modelled_type& one, std::int64_t count, generator& random) {
  memory_of_elements source{one.model, count}, target{one.model, count};
  const std::vector<std::byte> expected = source.packed();
  std::int64_t bytes = 0;
  ASSERT_TRUE(one.type->try_bytes_of(count, bytes));
  ASSERT_EQ(bytes, std::ssize(expected));
  std::vector<std::byte> packed(expected.size());
  for (const auto& [begin, end] : random_pieces(random, packed.size())) {
    ASSERT_EQ(one.type->pack(source.address(), begin, packed.data() + begin, end - begin), end - begin);
  }
  EXPECT_EQ(packed, expected);

  if (target.overlaps()) return;
  std::ranges::generate(packed, [&] { return static_cast<std::byte>(random()); });
  memory_of_elements stored = target;
  stored.store(packed);
  for (const auto& [begin, end] : random_pieces(random, packed.size())) {
    ASSERT_EQ(one.type->unpack(target.address(), begin, packed.data() + begin, end - begin), end - begin);
  }
  EXPECT_EQ(target.bytes(), stored.bytes()) << "a byte is wrong, or one outside of the data was written";
}

void expect_buffer_of_the_model(const modelled_type& one, std::int64_t count) {
  memory_of_elements source{one.model, count};
  const std::vector<std::byte> expected = source.packed();
  const const_buffer_ref buffer = one.type->buffer(static_cast<const void*>(source.address()), count);
  ASSERT_EQ(buffer.bytes(), expected.size());
  if (buffer.memory() != nullptr || expected.empty()) return;
  const auto* const begin = static_cast<const std::byte*>(buffer.address());
  EXPECT_EQ((std::vector<std::byte>{begin, begin + buffer.bytes()}), expected);
}

void expect_elements_of_the_model(const modelled_type& one) {
  const std::int64_t size = one.model.size();
  for (std::int64_t bytes = 0; bytes <= 3 * size && bytes < 400; ++bytes) {
    const std::optional<std::int64_t> expected = one.model.elements_in(bytes);
    ASSERT_EQ(mpi::elements_in(*one.type, bytes), expected) << bytes << " bytes of elements with " << size;
    if (expected) {
      ASSERT_EQ(mpi::bytes_of_elements(*one.type, *expected), bytes);
    }
  }
}

TEST(random_datatypes, have_the_bytes_and_the_bounds_of_their_definition) {
  const std::uint64_t first = random_seed();
  for (std::uint64_t seed = first; seed != first + types_of_a_run; ++seed) {
    SCOPED_TRACE("TEST_SEED=" + std::to_string(seed));
    generator random{seed};
    const modelled_type one = random_type(random, static_cast<int>(between(random, 0, 4)));
    const std::int64_t count = between(random, 0, 4);
    expect_bounds_of_the_model(one);
    expect_data_of_the_model(one, count, random);
    expect_buffer_of_the_model(one, count);
    expect_elements_of_the_model(one);
    if (testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace weft::test
