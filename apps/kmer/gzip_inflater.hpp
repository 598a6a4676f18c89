// SPDX-License-Identifier: BSD-3-Clause
// Inflates a gzip stream of any number of members, as gzip and bgzip write them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace weft_kmer {

class gzip_inflater {
 public:
  gzip_inflater();
  ~gzip_inflater();
  gzip_inflater(const gzip_inflater&) = delete;
  gzip_inflater& operator=(const gzip_inflater&) = delete;

  /// The next compressed bytes. They stay where they are until `needs_input`.
  void feed(std::span<const std::byte> compressed) noexcept;
  [[nodiscard]] bool needs_input() const noexcept { return unread() == 0; }
  /// Bytes that it was fed and hasn't looked at.
  [[nodiscard]] std::size_t unread() const noexcept;

  /// Inflates what it was fed into `text`. Returns: how many bytes; fewer than fit mean that it needs input.
  /// Errors: stream_error for damaged data, a wrong checksum or length, or what isn't gzip.
  [[nodiscard]] std::size_t inflate(std::span<char> text);

  /// Call it when there is no more input. Errors: stream_error if the stream breaks off in the middle of a member.
  void check_complete() const;

 private:
  struct state;

  void begin_member();
  [[nodiscard]] bool skip_padding();

  std::unique_ptr<state> state_;
  bool in_member_ = false;
  bool in_padding_ = false;
};

}  // namespace weft_kmer
