// SPDX-License-Identifier: BSD-3-Clause
// Cuts sequences into k-mers and sends each to its owner, in buffers of a message's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kmer/exchange.hpp"
#include "kmer/kmer.hpp"
#include "kmer/letter_tally.hpp"

namespace weft_kmer {

/// A visitor for `parse`. `Own` takes the k-mers that the sender owns itself, as if they had come in a message.
template <typename Word, typename Own>
class kmer_sender {
 public:
  kmer_sender(unsigned k, bool canonical, endpoint& link, Own own)
      : window_{k},
        canonical_{canonical},
        link_{&link},
        own_{std::move(own)},
        kmers_(link.participants() * kmers_per_message),
        fill_(link.participants()) {}

  void begin_record() noexcept { window_.reset(); }

  void bases(std::string_view letters) { canonical_ ? cut_kmers<true>(letters) : cut_kmers<false>(letters); }

  /// Sends what is left in the buffers.
  void flush() {
    for (unsigned to = 0; to < fill_.size(); ++to) flush(to);
  }

  /// K-mers so far.
  [[nodiscard]] std::uint64_t kmers() const noexcept { return count_; }

  [[nodiscard]] const letter_tally& letters() const noexcept { return letters_; }

 private:
  static constexpr std::size_t kmers_per_message = message_bytes_max / sizeof(Word);

  template <bool Canonical>
  void cut_kmers(std::string_view letters) {
    kmer_window<Word> window = window_;  // a copy that nothing else can point to stays in registers
    for (const char letter : letters) {
      const std::uint8_t code = code_of(letter);
      if (code == no_base) [[unlikely]]
        letters_.skip(letter);
      if (window.push(code)) put(Canonical ? window.canonical() : window.forward());
    }
    window_ = window;
  }

  void put(Word kmer) {
    const auto owner = static_cast<unsigned>(scale_hash(hash_of(kmer), fill_.size()));
    kmers_[owner * kmers_per_message + fill_[owner]] = kmer;
    if (++fill_[owner] == kmers_per_message) [[unlikely]]
      flush(owner);
  }

  [[gnu::noinline]] void flush(unsigned to) {
    const auto data = std::as_bytes(std::span{kmers_}.subspan(to * kmers_per_message, fill_[to]));
    count_ += fill_[to];
    fill_[to] = 0;
    if (data.empty()) return;
    if (to == link_->self()) {
      own_(data);
    } else {
      link_->send(to, data);
      (void)link_->serve();
    }
  }

  kmer_window<Word> window_;
  bool canonical_;
  endpoint* link_;
  Own own_;
  std::vector<Word> kmers_;  // a message's worth for each participant
  std::vector<std::uint32_t> fill_;
  std::uint64_t count_ = 0;
  letter_tally letters_;
};

}  // namespace weft_kmer
