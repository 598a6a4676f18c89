// SPDX-License-Identifier: BSD-3-Clause
#include "support/exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <iterator>
#include <ostream>

#include "coll/algorithms/table.hpp"
#include "coll/args/collective_args.hpp"

namespace weft::test {

namespace {

using operation = collective_operation;

// Combines as composition of affine maps does: x -> a x + b, where a is the low half of a word, and b the high one.
struct composed {
  std::uint64_t operator()(std::uint64_t first, std::uint64_t second) const noexcept {
    const auto a1 = static_cast<std::uint32_t>(first), b1 = static_cast<std::uint32_t>(first >> 32);
    const auto a2 = static_cast<std::uint32_t>(second), b2 = static_cast<std::uint32_t>(second >> 32);
    return std::uint64_t{a2 * b1 + b2} << 32 | static_cast<std::uint32_t>(a1 * a2);
  }
};

template <class Element>
void store(const Element& value, std::byte* into) noexcept {
  std::memcpy(into, &value, sizeof value);
}

using least_located = reductions::located<double>;

// Numbers whose sums are exact, as algorithms put brackets elsewhere.
const std::array kinds{
    element_kind{"sums of words", reduction::callable<std::uint64_t>(),
                 [](std::uint64_t from, std::byte* into) { store(from, into); }},
    element_kind{"maps in order", reduction::callable<std::uint64_t>(composed{}, false),
                 [](std::uint64_t from, std::byte* into) { store(from | 1, into); }},
    element_kind{"exclusive or of bytes", reduction::callable<std::uint8_t>(std::bit_xor<std::uint8_t>{}),
                 [](std::uint64_t from, std::byte* into) { store(static_cast<std::uint8_t>(from >> 32), into); }},
    element_kind{"the least of integers", reduction::callable<std::int32_t>(reductions::min{}),
                 [](std::uint64_t from, std::byte* into) { store(static_cast<std::int32_t>(from >> 16), into); }},
    element_kind{"sums of doubles", reduction::callable<double>(),
                 [](std::uint64_t from, std::byte* into) { store(static_cast<double>(from % 1000), into); }},
    element_kind{"where the least double is", reduction::callable<least_located>(reductions::min_located{}),
                 [](std::uint64_t from, std::byte* into) {
                   store(least_located{static_cast<double>(from % 5), from >> 32}, into);
                 }},
};

// Element `i` of block `block` that member `member` gives in collective `number`.
std::uint64_t drawn(std::uint32_t number, std::uint32_t member, std::size_t i) noexcept {
  std::uint64_t out = (number * 0x9e37'79b9'7f4a'7c15ULL) ^ (member * 0xbf58'476d'1ce4'e5b9ULL) ^ (i + 1);
  out = (out ^ out >> 31) * 0x94d0'49bb'1331'11ebULL;
  return out ^ out >> 29;
}

// Bytes of a block.
std::size_t any_bytes(std::mt19937& random) {
  constexpr std::size_t cell = 40, packet = 8192, large = 65536;
  constexpr std::size_t some[] = {0, 8, 8, 16, 24, cell, cell, 56, 104, 800, packet / 9, packet, large};
  return some[random() % std::size(some)];
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const exchange& of) {
  return out << name_of(of.operation) << ' ' << (of.algorithm.empty() ? "by the rules" : of.algorithm) << ", number "
             << of.number << ", of " << of.size << " members, root " << of.root << ", " << of.count << " elements ("
             << of.kind->name << "), in place: " << of.is_inplace;
}

exchange any_exchange(std::mt19937& random, std::uint32_t number, std::uint32_t size) {
  const auto all = coll::algorithms();
  for (;;) {
    const coll::algorithm& one = all[random() % all.size()];
    const element_kind& kind = kinds[random() % kinds.size()];
    const std::size_t about = any_bytes(random) / kind.how.element_bytes;
    exchange out{.operation = one.operation,
                 .algorithm = one.name,
                 .number = number,
                 .size = size,
                 .root = static_cast<std::uint32_t>(random() % size),
                 .count = about + random() % 3 - (about == 0 ? 0 : 1),
                 .kind = &kind,
                 .is_inplace = random() % 3 == 0};
    const coll::collective_args args{.operation = one.operation,
                                     .size = size,
                                     .root = out.root,
                                     .block_bytes = out.block_bytes(),
                                     .element_bytes = kind.how.element_bytes,
                                     .is_commutative = kind.how.is_commutative};
    if (!one.can(args)) continue;
    if (random() % 2 == 0) out.algorithm = {};
    return out;
  }
}

const memory& layout_of_bytes() {
  struct bytes_as_they_are {
    std::size_t pack(const void* address, std::uint64_t offset, std::byte* to, std::size_t bytes) const noexcept {
      std::memcpy(to, static_cast<const std::byte*>(address) + offset, bytes);
      return bytes;
    }
    std::size_t unpack(void* address, std::uint64_t offset, const std::byte* from, std::size_t bytes) const noexcept {
      std::memcpy(static_cast<std::byte*>(address) + offset, from, bytes);
      return bytes;
    }
  };
  static const bytes_as_they_are shape;
  static const layout out{shape};
  return out;
}

member_side::member_side(const exchange& of, std::uint32_t me) : of_{of}, me_{me} {
  const std::uint32_t n = of.size;
  const bool is_root = me == of.root;
  switch (of.operation) {
    case operation::barrier: break;
    case operation::broadcast:
      out_ = is_root ? given(me) : bytes(of.block_bytes());
      wanted_ = given(of.root);
      break;
    case operation::reduce:
    case operation::allreduce:
      in_ = given(me);
      if (is_root || of.operation == operation::allreduce) wanted_ = reduced(0, n - 1);
      break;
    case operation::scan:
      in_ = given(me);
      wanted_ = reduced(0, me);
      break;
    case operation::exscan:
      in_ = given(me);
      wanted_ = me == 0 ? bytes(of.block_bytes()) : reduced(0, me - 1);
      break;
    case operation::gather:
    case operation::allgather:
      in_ = given(me);
      for (std::uint32_t from = 0; (is_root || of.operation == operation::allgather) && from < n; ++from)
        append(wanted_, given(from));
      break;
    case operation::scatter:
      if (is_root) in_ = given(me, n);
      wanted_ = block(given(of.root, n), me);
      break;
    case operation::alltoall:
      in_ = given(me, n);
      for (std::uint32_t from = 0; from < n; ++from) append(wanted_, block(given(from, n), me));
      break;
    case operation::reduce_scatter:
      in_ = given(me, n);
      wanted_ = block(reduced(0, n - 1, n), me);
      break;
  }
  if (of.operation != operation::broadcast) out_.resize(wanted_.size());
  if (of.is_inplace) make_inplace();
  before_ = in_;
}

void member_side::make_inplace() {
  const bool is_root = me_ == of_.root;
  const auto put = [&](std::uint32_t at) {
    std::ranges::copy(in_, out_.begin() + static_cast<std::ptrdiff_t>(at * of_.block_bytes()));
    has_in_ = false;
  };
  switch (of_.operation) {
    case operation::barrier:
    case operation::broadcast: return;
    case operation::reduce:
      if (is_root) put(0);
      return;
    case operation::gather:
      if (is_root) put(me_);
      return;
    case operation::allgather: return put(me_);
    case operation::scatter:
      if (!is_root) return;
      has_out_ = false;
      out_.clear();
      wanted_.clear();
      return;
    case operation::exscan:
      put(0);
      if (me_ == 0) wanted_ = out_;
      return;
    case operation::allreduce:
    case operation::scan: return put(0);
    case operation::alltoall:
    case operation::reduce_scatter:
      out_ = in_;
      has_in_ = false;
      return;
  }
}

member_side::bytes member_side::given(std::uint32_t member, std::size_t blocks) const {
  bytes out(blocks * of_.block_bytes());
  const std::size_t size = of_.kind->how.element_bytes;
  for (std::size_t i = 0; i < blocks * of_.count; ++i)
    of_.kind->make(drawn(of_.number, member, i), out.data() + i * size);
  return out;
}

member_side::bytes member_side::reduced(std::uint32_t first, std::uint32_t last, std::size_t blocks) const {
  bytes out = given(last, blocks);
  for (std::uint32_t member = last; member-- > first;) {
    const bytes more = given(member, blocks);
    if (!more.empty()) of_.kind->how.combine(more.data(), out.data(), blocks * of_.count, of_.kind->how.context);
  }
  return out;
}

member_side::bytes member_side::block(const bytes& of, std::uint32_t which) const {
  const auto size = static_cast<std::ptrdiff_t>(of_.block_bytes());
  return {of.begin() + which * size, of.begin() + (which + 1) * size};
}

collective member_side::call(const memory* in_memory) {
  const auto buffer = [&](bytes& of) {
    return in_memory == nullptr || of.empty() ? buffer_ref{of} : buffer_ref{of.data(), of.size(), *in_memory};
  };
  const const_buffer_ref in = of_.operation == operation::broadcast ? const_buffer_ref{buffer(out_)}
                              : has_in_                             ? const_buffer_ref{buffer(in_)}
                                                                    : const_buffer_ref{};
  return collective{{.operation = of_.operation,
                     .is_inplace = !has_in_ || !has_out_,
                     .root = of_.root,
                     .input = in,
                     .out = has_out_ ? buffer(out_) : buffer_ref{},
                     .op = of_.kind->how}};
}

bool member_side::is_right() const {
  return in_ == before_ && out_.size() >= wanted_.size() && std::equal(wanted_.begin(), wanted_.end(), out_.begin());
}

}  // namespace weft::test
