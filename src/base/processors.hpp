// SPDX-License-Identifier: BSD-3-Clause
// Which processors of this machine a thread may run on, and how several ranks share them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::base {

/// Processors by the system's numbers: Linux has at most `size`, and higher ones are not seen. It takes memory for its
/// highest one. **Errors**: copies and `add`: std::bad_alloc.
class processor_set {
 public:
  static constexpr std::uint32_t size = 8192;

  void add(std::uint32_t processor) {
    if (processor >= size) return;
    if (processor >= end()) words_.resize(processor / 64 + 1);
    words_[processor / 64] |= std::uint64_t{1} << (processor % 64);
  }
  void add(const processor_set& others) {
    if (words_.size() < others.words_.size()) words_.resize(others.words_.size());
    for (std::size_t i = 0; i < others.words_.size(); ++i) words_[i] |= others.words_[i];
  }
  [[nodiscard]] bool has(std::uint32_t processor) const noexcept {
    return processor < end() && (words_[processor / 64] >> (processor % 64) & 1) != 0;
  }
  [[nodiscard]] bool meets(const processor_set& other) const noexcept {
    for (std::size_t i = 0; i < words_.size() && i < other.words_.size(); ++i) {
      if ((words_[i] & other.words_[i]) != 0) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t count() const noexcept;
  /// A number behind the highest processor.
  [[nodiscard]] std::uint32_t end() const noexcept { return static_cast<std::uint32_t>(64 * words_.size()); }
  /// Text as the system writes it: "0-3,8"; "none" for no processor.
  [[nodiscard]] std::string to_text() const;
  /// A bit for each processor, 64 in a word, up to the word of the highest one.
  [[nodiscard]] std::span<const std::uint64_t> words() const noexcept { return words_; }

  bool operator==(const processor_set&) const = default;

 private:
  std::vector<std::uint64_t> words_;  // the last one is not 0
};

/// The processors of the calling thread; none if the system doesn't say it. **Errors**: std::bad_alloc.
[[nodiscard]] processor_set processors_of_this_thread();
/// Binds the calling thread, and threads that it starts from now on, to `wanted`. **Returns** whether the system did.
bool keep_this_thread_on(const processor_set& wanted) noexcept;

/// The cores that `within` has a part of: their processors within it; in the order of sockets and numbers, in which
/// neighbours share caches and memory. Each processor is a core where the system doesn't show its shape.
[[nodiscard]] std::vector<processor_set> cores_within(const processor_set& within);

/// Part `index` of `parts` about equal parts of `cores`, whole cores next to each other; nothing where there are fewer
/// cores than parts.
[[nodiscard]] processor_set part_of(const std::vector<processor_set>& cores, std::size_t index, std::size_t parts);

/// Reads a list as the system writes it. What isn't one ends it.
[[nodiscard]] processor_set read_processor_list(const std::string& text);

}  // namespace weft::base
