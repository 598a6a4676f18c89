// SPDX-License-Identifier: BSD-3-Clause
// A message in pieces, cut and laid out at random, and a load of all operations that take lists of such pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/waiting.hpp"
#include "weft/weft.hpp"

namespace weft::test {

/// Ways to cut a message into pieces, and to lay them out.
enum class cut : std::uint8_t {
  one_piece,
  slices,     // each lies right behind the one before
  words,      // of 8 bytes
  equal,      // of one random size
  random,     // of sizes of many magnitudes, some of them 0
  backwards,  // of such sizes, the last piece first in memory
  count,
};

/// Memory for a message in pieces. The bytes between them have to stay as they are.
class scattered {
 public:
  scattered(std::size_t bytes, cut how, std::mt19937_64& random) {
    const std::vector<std::size_t> sizes = cut_at_random(bytes, how, random);
    const bool is_even = how == cut::words || how == cut::equal || random() % 2 == 0;
    const std::size_t gap = how == cut::slices ? 0 : 1 + random() % 700;
    std::vector<std::size_t> offsets(sizes.size());
    std::size_t end = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const std::size_t at = how == cut::backwards ? sizes.size() - 1 - i : i;
      end += how == cut::slices ? 0 : is_even ? gap : 1 + random() % 700;
      offsets[at] = end;
      end += sizes[at];
    }
    memory_.assign(end + 1, untouched);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::byte* const at = sizes[i] == 0 && random() % 2 == 0 ? nullptr : memory_.data() + offsets[i];
      from_.emplace_back(at, sizes[i]);
      into_.emplace_back(at, sizes[i]);
    }
  }

  [[nodiscard]] const_buffer_list from() const noexcept { return std::span{from_}; }
  [[nodiscard]] buffer_list into() const noexcept { return std::span{into_}; }

  void fill(std::uint64_t key) {
    std::uint64_t index = 0;
    each_byte([&](std::byte& byte) { byte = byte_of(key, index++); });
  }
  /// The first difference from what `fill(key)` would have made of the first `bytes` bytes of the message.
  [[nodiscard]] std::optional<std::string> difference(std::uint64_t key, std::size_t bytes) {
    std::vector<std::byte> wanted(memory_.size(), untouched);
    std::uint64_t index = 0;
    each_byte([&](std::byte& byte) {
      if (index < bytes) wanted[static_cast<std::size_t>(&byte - memory_.data())] = byte_of(key, index);
      ++index;
    });
    const auto [found, expected] = std::mismatch(memory_.begin(), memory_.end(), wanted.begin());
    if (found == memory_.end()) return std::nullopt;
    return "byte " + std::to_string(found - memory_.begin()) + " of the memory is " +
           std::to_string(static_cast<int>(*found)) + " instead of " + std::to_string(static_cast<int>(*expected));
  }

 private:
  static constexpr std::byte untouched{0xee};

  static std::byte byte_of(std::uint64_t key, std::uint64_t index) noexcept {
    return static_cast<std::byte>((key * 31 + index * 137 + (index >> 8) * 3) & 0xff);
  }

  static std::vector<std::size_t> cut_at_random(std::size_t bytes, cut how, std::mt19937_64& random) {
    if (how == cut::one_piece) return {bytes};
    const std::size_t equal = how == cut::words ? 8 : std::size_t{1} << random() % 18;
    // Of some sizes there would be too many pieces for a test.
    const std::size_t magnitudes = 4 + random() % 14;
    std::vector<std::size_t> out;
    while (bytes > 0) {
      const std::size_t next =
          how == cut::words || how == cut::equal ? equal : random() % (std::size_t{1} << random() % magnitudes);
      out.push_back(std::min(next, bytes));
      bytes -= out.back();
      if (out.size() == pieces_max) out.push_back(std::exchange(bytes, 0));
    }
    if (how != cut::words && random() % 2 == 0) out.push_back(0);
    return out;
  }

  template <class Visit>
  void each_byte(const Visit& visit) {
    for (const buffer_ref& piece : into_) {
      auto* const bytes = static_cast<std::byte*>(piece.address());
      for (std::size_t i = 0; i < piece.bytes(); ++i) visit(bytes[i]);
    }
  }

  static constexpr std::size_t pieces_max = under_sanitizer ? 20'000 : 200'000;

  std::vector<std::byte> memory_;
  std::vector<const_buffer_ref> from_;
  std::vector<buffer_ref> into_;
};

/// Two ranks move lists to each other by every operation that takes them. Both draw equal numbers.
class list_load {
 public:
  enum class transfer : std::uint8_t { send, ordered, receiver_first, probed, message, put, get, count };

  /// `fail` gets a text.
  template <class Fail>
  static void run(runtime& rt, std::uint64_t seed, int rounds, const Fail& fail) {
    list_load load{rt, seed};
    for (int round = 0; round < rounds; ++round) {
      const auto problem = load.move(round);
      if (problem) fail("seed " + std::to_string(seed) + ", round " + std::to_string(round) + ": " + *problem);
      rt.barrier();
    }
  }

 private:
  list_load(runtime& rt, std::uint64_t seed)
      : rt_{rt},
        dev_{rt.default_device()},
        random_{seed},
        ordered_{rt, {.id = 1, .ordered = true}},
        first_{rt, {.id = 2, .receiver_first = true}},
        own_(bytes_max),
        regions_{memory_region{rt, bytes_max}, memory_region{rt, std::span{own_}}},
        done_{rt},
        inbox_{rt},
        arrivals_{rt.register_completion(inbox_, {.id = 1})} {
    for (const memory_region& mine : regions_) {
      counter sent{rt};
      static_cast<void>(post_until_taken(dev_, peer_, {1}, std::span{&mine.handle(), 1}, sent));
      const auto theirs = next(inbox_);
      if (theirs) std::memcpy(&there_[&mine - regions_.data()], theirs->data().data(), sizeof there_[0]);
      rt.barrier();
    }
  }

  std::size_t draw_bytes() {
    const std::size_t packet = rt_.attributes().packet_bytes;
    const std::size_t around[] = {0, 1, 8, 40, packet - 24, packet, 2 * packet, 65'536, 131'072, 524'288, 1'048'576};
    const std::size_t one = around[random_() % std::size(around)];
    switch (random_() % 4) {
      case 0: return one;
      case 1: return one == 0 ? 0 : one - 1;
      case 2: return one + 1;
      default: return random_() % (std::size_t{1} << random_() % 21);
    }
  }

  std::optional<completion_record> next(completion_queue& from) {
    std::optional<completion_record> out;
    static_cast<void>(eventually(dev_, [&] { return (out = from.pop()).has_value(); }));
    return out;
  }

  // One message in each direction.
  std::optional<std::string> move(int round) {
    const auto how = static_cast<transfer>(random_() % static_cast<std::uint64_t>(transfer::count));
    const std::size_t bytes = draw_bytes();
    const auto out_cut = static_cast<cut>(random_() % static_cast<std::uint64_t>(cut::count));
    const auto in_cut = static_cast<cut>(random_() % static_cast<std::uint64_t>(cut::count));
    const std::size_t room = random_() % 4 == 0 ? bytes + random_() % 100 : bytes;
    const bool is_delivered = random_() % 2 == 0;
    const std::uint64_t key = random_();
    scattered out{bytes, out_cut, random_};
    scattered in{how == transfer::get ? bytes : room, in_cut, random_};
    const std::string name = "transfer " + std::to_string(static_cast<int>(how)) + ", " + std::to_string(bytes) +
                             " bytes in " + std::to_string(out.from().buffers().size()) + " pieces into " +
                             std::to_string(in.into().buffers().size()) + " pieces: ";
    out.fill(key + rt_.rank());
    const auto problem = post_all(how, out, in, static_cast<std::uint64_t>(round), is_delivered, bytes, key + peer_);
    return problem ? std::optional{name + *problem} : std::nullopt;
  }

  std::optional<std::string> post_all(transfer how, scattered& out, scattered& in, std::uint64_t tag, bool is_delivered,
                                      std::size_t bytes, std::uint64_t key) {
    const auto level = is_delivered ? completion_level::delivered : completion_level::local;
    const std::uint32_t engine = how == transfer::ordered          ? ordered_.id()
                                 : how == transfer::receiver_first ? first_.id()
                                                                   : default_matching_engine;
    const post_send_options sends{.tag = tag, .engine = engine, .complete_at = level, .allow_done = false};
    const auto region = static_cast<std::size_t>(tag % 2);
    switch (how) {
      case transfer::probed:
      case transfer::send:
      case transfer::ordered:
      case transfer::receiver_first: {
        static_cast<void>(post(dev_, [&] { return dev_.post_send(peer_, out.from(), done_, sends); }));
        if (how == transfer::probed) {
          std::optional<matched_message> found;
          if (!eventually(dev_, [&] { return (found = dev_.probe(peer_, {.tag = tag})).has_value(); }))
            return "no probe finds it";
          static_cast<void>(post(dev_, [&] { return found->receive(in.into(), done_); }));
        } else {
          static_cast<void>(
              post(dev_, [&] { return dev_.post_recv(peer_, in.into(), done_, {.tag = tag, .engine = engine}); }));
        }
        if (const auto problem = complete(2)) return problem;
        return in.difference(key, bytes);
      }
      case transfer::message: {
        static_cast<void>(post(dev_, [&] {
          return dev_.post_am(peer_, {1}, out.from(), done_, {.complete_at = level, .allow_done = false});
        }));
        const auto arrived = next(inbox_);
        if (!arrived) return "it does not arrive";
        if (const auto problem = complete(1)) return problem;
        return unlike(arrived->data(), key, bytes);
      }
      case transfer::put: {
        static_cast<void>(post(dev_, [&] {
          return dev_.post_put(peer_, out.from(), {there_[region], 0}, done_,
                               {.complete_at = completion_level::delivered, .allow_done = false});
        }));
        if (const auto problem = complete(1)) return problem;
        rt_.barrier();
        return unlike(regions_[region].memory().first(bytes), key, bytes);
      }
      default: {
        scattered source{bytes, cut::one_piece, random_};
        source.fill(key - peer_ + rt_.rank());
        if (bytes != 0) std::memcpy(regions_[region].memory().data(), source.from().buffers()[0].address(), bytes);
        rt_.barrier();
        static_cast<void>(post(dev_, [&] {
          return dev_.post_get(peer_, in.into(), {there_[region], 0}, done_, {.allow_done = false});
        }));
        if (const auto problem = complete(1)) return problem;
        rt_.barrier();
        return in.difference(key, bytes);
      }
    }
  }

  std::optional<std::string> complete(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto record = next(done_);
      if (!record) return "it does not end";
      if (record->error() != errc::none) return std::string{"it fails: "} + name_of(record->error());
    }
    return std::nullopt;
  }

  std::optional<std::string> unlike(std::span<const std::byte> got, std::uint64_t key, std::size_t bytes) {
    if (got.size() != bytes) return "it has " + std::to_string(got.size()) + " bytes";
    scattered wanted{bytes, cut::one_piece, random_};
    wanted.fill(key);
    const bool is_equal = bytes == 0 || std::memcmp(wanted.from().buffers()[0].address(), got.data(), bytes) == 0;
    return is_equal ? std::nullopt : std::optional<std::string>{"other bytes have arrived"};
  }

  static constexpr std::size_t bytes_max = std::size_t{2} << 20;

  runtime& rt_;
  device& dev_;
  std::uint32_t peer_ = 1 - rt_.rank();
  std::mt19937_64 random_;
  matching_engine ordered_;
  matching_engine first_;
  std::vector<std::byte> own_;
  std::array<memory_region, 2> regions_;  // of the library's memory, and of the test's
  std::array<remote_region, 2> there_;
  completion_queue done_;
  completion_queue inbox_;
  registration arrivals_;
};

}  // namespace weft::test
