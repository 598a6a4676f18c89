// SPDX-License-Identifier: BSD-3-Clause
// Two words by which weft-run asks its ranks for a report, in memory that it shares with them.
//
// weft-run adds one to a word to ask; a rank compares the words with what it has seen. Nothing else is carried.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.hpp"

namespace weft::base {

class ask_word {
 public:
  enum class request : std::uint8_t {
    none,
    join,  // another rank stands still
    last,  // the job is about to be ended
  };

  ask_word() = default;
  ask_word(const ask_word&) = delete;
  ask_word& operator=(const ask_word&) = delete;
  ~ask_word();

  /// Makes the memory, for weft-run. **Returns** the value of `WEFT_RUN_ASK_WORD`; empty if the system gives none.
  [[nodiscard]] std::string make();
  [[nodiscard]] int fd() const noexcept { return file_.get(); }
  /// Called by weft-run.
  void ask(request kind) noexcept;

  /// Made by a rank: `text` is the value of `WEFT_RUN_ASK_WORD`. Text that names no such memory of this process is
  /// ignored: a program that a rank has started inherits the variable, but not the descriptor.
  void open(const std::string& text) noexcept;
  [[nodiscard]] bool is_open() const noexcept { return words_ != nullptr; }
  /// Called by a rank: what was asked since the last call.
  [[nodiscard]] request take() noexcept;

 private:
  struct words;

  void map(int fd, int access) noexcept;

  base::descriptor file_;
  words* words_ = nullptr;
  std::uint32_t seen_joins_ = 0;
  std::uint32_t seen_lasts_ = 0;
};

}  // namespace weft::base
