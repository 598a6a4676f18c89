// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/gzip_inflater.hpp"

#include <isa-l/igzip_lib.h>

#include <string>

#include "kmer/input_error.hpp"

namespace weft_kmer {

namespace {

const char* reason(int code) noexcept {
  switch (code) {
    case ISAL_INVALID_WRAPPER:
    case ISAL_UNSUPPORTED_METHOD: return "the compressed data is no gzip stream";
    case ISAL_INCORRECT_CHECKSUM: return "the gzip stream is damaged (checksum or length differ)";
    default: return "the gzip stream is damaged";
  }
}

}  // namespace

struct gzip_inflater::state : inflate_state {};

gzip_inflater::gzip_inflater() : state_{std::make_unique<state>()} {
  isal_inflate_init(state_.get());
  state_->crc_flag = ISAL_GZIP;
}

gzip_inflater::~gzip_inflater() = default;

void gzip_inflater::feed(std::span<const std::byte> compressed) noexcept {
  // The library doesn't write to its input, though its interface doesn't say so.
  state_->next_in = reinterpret_cast<std::uint8_t*>(const_cast<std::byte*>(compressed.data()));
  state_->avail_in = static_cast<std::uint32_t>(compressed.size());
}

std::size_t gzip_inflater::unread() const noexcept { return state_->avail_in; }

void gzip_inflater::begin_member() {
  isal_inflate_reset(state_.get());
  state_->crc_flag = ISAL_GZIP;
  in_member_ = true;
}

// Some tools fill the last block of a tape or a file with zeros; nothing but those may come after a member.
bool gzip_inflater::skip_padding() {
  while (state_->avail_in > 0 && *state_->next_in == 0) {
    in_padding_ = true;
    ++state_->next_in;
    --state_->avail_in;
  }
  if (state_->avail_in > 0 && in_padding_) throw stream_error{"something else follows the gzip stream"};
  return state_->avail_in > 0;
}

std::size_t gzip_inflater::inflate(std::span<char> text) {
  state_->next_out = reinterpret_cast<std::uint8_t*>(text.data());
  state_->avail_out = static_cast<std::uint32_t>(text.size());
  while (state_->avail_out > 0) {
    if (!in_member_) {
      if (!skip_padding()) break;
      begin_member();
    }
    const auto before_in = state_->avail_in;
    const auto before_out = state_->avail_out;
    const int code = isal_inflate(state_.get());
    if (code < 0) throw stream_error{reason(code)};
    if (state_->block_state == ISAL_BLOCK_FINISH) {
      in_member_ = false;
    } else if (state_->avail_in == before_in && state_->avail_out == before_out) {
      break;
    }
  }
  return text.size() - state_->avail_out;
}

void gzip_inflater::check_complete() const {
  if (in_member_) throw stream_error{"the gzip stream ends too early (is the file complete?)"};
}

}  // namespace weft_kmer
