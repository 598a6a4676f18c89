// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/bgzip.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "kmer/byte_stream.hpp"
#include "kmer/input_error.hpp"

namespace weft_kmer {

namespace {

constexpr std::size_t block_bytes_max = std::size_t{64} << 10;

unsigned at(std::span<const std::byte> bytes, std::size_t i) noexcept { return std::to_integer<unsigned>(bytes[i]); }

}  // namespace

// Fixed: a gzip member with an extra field of six bytes, the subfield BC of two bytes: the block's length less one.
std::size_t bgzip_block_bytes(std::span<const std::byte> head) noexcept {
  constexpr std::array<unsigned char, 4> magic{0x1f, 0x8b, 8, 4};
  constexpr std::array<unsigned char, 6> extra{6, 0, 'B', 'C', 2, 0};
  if (head.size() < bgzip_header_bytes) return 0;
  if (std::memcmp(head.data(), magic.data(), magic.size()) != 0) return 0;
  if (std::memcmp(head.data() + 10, extra.data(), extra.size()) != 0) return 0;
  return (at(head, 16) | at(head, 17) << 8) + 1;
}

std::uint64_t find_bgzip_block(int fd, std::uint64_t file_bytes, std::uint64_t from) {
  // The ten bytes that are looked for don't occur by chance, and a block is no longer than this.
  std::vector<std::byte> bytes(block_bytes_max + bgzip_header_bytes);
  bytes.resize(read_fully_at(fd, bytes, from));
  for (std::size_t i = 0; i + bgzip_header_bytes <= bytes.size(); ++i) {
    if (bgzip_block_bytes(std::span{bytes}.subspan(i)) != 0) return from + i;
  }
  if (from + bytes.size() < file_bytes)
    throw stream_error{"the bgzip file is damaged: no block begins where one should"};
  return file_bytes;
}

bgzip_window::bgzip_window(int fd, std::uint64_t file_bytes, std::uint64_t first_block)
    : fd_{fd}, file_bytes_{file_bytes}, next_block_{first_block} {}

bool bgzip_window::extend() {
  if (next_block_ >= file_bytes_) {
    if (!last_was_empty_ && !compressed_.empty()) {
      throw stream_error{"the bgzip file lacks its end marker (is the file complete?)"};
    }
    return false;
  }
  compressed_.resize(block_bytes_max);
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span{compressed_});
  const std::size_t got = read_fully_at(fd_, bytes, next_block_);
  const std::size_t block_bytes = bgzip_block_bytes(bytes.first(got));
  if (block_bytes == 0 || block_bytes > got) throw stream_error{"the bgzip file is damaged or ends too early"};
  const std::size_t before = text_.size();
  // One byte more than a block can have: then inflating doesn't stop before the checksum.
  text_.resize(before + block_bytes_max + 1);
  inflater_.feed(bytes.first(block_bytes));
  const std::size_t inflated = inflater_.inflate({text_.data() + before, block_bytes_max + 1});
  if (inflated > block_bytes_max) throw stream_error{"the bgzip file is damaged: a block is too long"};
  inflater_.check_complete();
  text_.resize(before + inflated);
  last_was_empty_ = inflated == 0;
  next_block_ += block_bytes;
  return inflated > 0 || extend();
}

}  // namespace weft_kmer
