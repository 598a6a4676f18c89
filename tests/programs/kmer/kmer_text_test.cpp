// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/byte_stream.hpp"
#include "kmer/fastx.hpp"
#include "kmer/gzip_inflater.hpp"
#include "kmer/spool.hpp"
#include "kmer/text_window.hpp"
#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

struct collector {
  std::vector<std::string> sequences;
  void begin_record() { sequences.emplace_back(); }
  void bases(std::string_view letters) { sequences.back() += letters; }
};

std::string refusal(std::string_view fastq) {
  collector found;
  try {
    (void)parse_fastq(fastq, found);
  } catch (const record_error& e) {
    return std::to_string(e.records_before()) + ": " + e.what();
  }
  return "accepted";
}

TEST(kmer_fastx, fastq_records_have_four_lines_with_either_line_end) {
  for (const char* text : {"@a\nACGT\n+\nIIII\n@b\n\n+\n\n@c\nTT\n+c\n@@\n",
                           "@a\r\nACGT\r\n+\r\nIIII\r\n@b\r\n\r\n+\r\n\r\n"
                           "@c\r\nTT\r\n+c\r\n@@",
                           "@a\nACGT\n+\nIIII\n@b\n\n+\n\n@c\nTT\n+c\n@@\n\n\n"}) {
    collector found;
    EXPECT_EQ(parse_fastq(text, found), 3U);
    EXPECT_EQ(found.sequences, (std::vector<std::string>{"ACGT", "", "TT"}));
  }
}

TEST(kmer_fastx, a_bad_record_is_refused_with_its_number) {
  const std::string good = "@a\nACGT\n+\nIIII\n";
  EXPECT_EQ(refusal(good + "@b\nACGT\n"), "1: the record has no quality line");
  EXPECT_EQ(refusal(good + "@b\nACGT\n+"), "1: the record has no quality line");
  EXPECT_EQ(refusal(good + "@b\nACGT\n+\n"), "1: the record has no quality line");
  EXPECT_EQ(refusal(good + "@b"), "1: the record has no sequence");
  EXPECT_EQ(refusal("b\nACGT\n+\nIIII\n"), "0: a record has to begin with '@'");
  // Where a file is cut, such lines would be taken for a separator and a header.
  EXPECT_EQ(refusal(good + "@b\n+\n+\nI\n"), "1: the record has no sequence");
  EXPECT_EQ(refusal(good + "@b\n@\n+\nI\n"), "1: the record has no sequence");
  EXPECT_EQ(refusal(good + good + "@b\nACGT\n" + good),
            "2: the record has no quality line (its third line has to begin with '+')");
  EXPECT_NE(refusal("@b\rACGT\r+\rIIII\r").find("0: the lines end in carriage returns alone"), std::string::npos);
  EXPECT_NE(refusal(good + "@b\nAC\rGT\n+\nIIIII\n").find("1: a carriage return in the middle"), std::string::npos);
  EXPECT_EQ(refusal("@b\nACGT\r\r\n+\r\r\nIIII\r\r\n"), "accepted");
  EXPECT_EQ(refusal("@b\nACGT\n+\nIII\n"), "0: the sequence has 4 letters, its quality line 3");
}

TEST(kmer_fastx, lines_of_fasta_end_in_carriage_returns_line_feeds_or_both) {
  for (const char* text : {">a x\nACGT\nTT\n\n>b\n>c\nC", ">a x\rACGT\rTT\r\r>b\r>c\rC\r",
                           ">a x\r\nACGT\r\nTT\r\n>b\r\n>c\r\nC\r\n", ">a x\nACGT\rTT\r\r\n>b\n\r>c\nC"}) {
    collector found;
    EXPECT_EQ(parse_fasta({text, std::string_view{text}.size(), text_format::fasta, true}, 3, found), 3U) << text;
    EXPECT_EQ(found.sequences, (std::vector<std::string>{"", "ACGTTT", "", "C"})) << text;
  }
}

TEST(kmer_fastx, a_header_of_fasta_that_is_too_long_is_refused) {
  const std::string text = ">a\nACGT\n>" + std::string(header_bytes_max, 'x') + "\nACGT\n";
  collector found;
  EXPECT_THROW((void)parse_fasta({text, text.size(), text_format::fasta, true}, 3, found), record_error);
}

// Text that comes a few bytes at a time.
class slow_window final : public text_window {
 public:
  slow_window(std::string text, std::size_t step) : all_{std::move(text)}, step_{step} {}
  bool extend() override {
    const std::size_t before = text_.size();
    text_ = all_.substr(0, before + step_);
    return text_.size() > before;
  }

 private:
  std::string all_;
  std::size_t step_;
};

TEST(kmer_text_window, fastq_is_cut_at_records_only_and_everywhere_at_the_next_one) {
  std::mt19937_64 random{2};
  std::vector<std::string> reads;
  for (int i = 0; i < 40; ++i) reads.push_back(random_letters(random, random() % 30));
  const std::string text = to_fastq(reads);
  std::vector<std::size_t> begins;
  std::size_t at = 0;
  for (const std::string& read : reads) {
    begins.push_back(at);
    at = text.find('\n', at) + 1 + 2 * (read.size() + 1) + 2;
  }
  begins.push_back(text.size());
  ASSERT_EQ(at, text.size());
  for (std::size_t from = 0; from <= text.size(); ++from) {
    slow_window window{text, 1 + from % 50};
    const std::size_t expected = *std::upper_bound(begins.begin(), begins.end() - 1, from);
    ASSERT_EQ(cut_fastq(window, from).position, expected) << "from " << from;
  }
}

TEST(kmer_text_window, fasta_is_cut_after_lines_and_within_long_ones) {
  slow_window window{">a\nACGT\nAC\n" + std::string(2 * header_bytes_max, 'G') + "\nT", 1000};
  EXPECT_EQ(cut_fasta(window, 1).position, 3U);
  EXPECT_EQ(cut_fasta(window, 3).position, 8U);
  const text_cut within = cut_fasta(window, 20);
  EXPECT_EQ(within.position, 20 + header_bytes_max);
  EXPECT_FALSE(within.at_line_begin);
  const std::size_t end = 11 + 2 * header_bytes_max + 2;
  EXPECT_EQ(cut_fasta(window, end - 2).position, end - 1);
  EXPECT_EQ(cut_fasta(window, end - 1).position, end);
}

TEST(kmer_text_window, fasta_is_cut_after_carriage_returns) {
  slow_window window{">a\rACGT\rAC\r>b\rGG", 2};
  EXPECT_EQ(cut_fasta(window, 1).position, 3U);
  EXPECT_EQ(cut_fasta(window, 4).position, 8U);
  EXPECT_EQ(reach_of(window, {3, true}, 5), 9U);
  EXPECT_EQ(reach_of(window, {3, true}, 99), 11U);
}

TEST(kmer_text_window, kmers_reach_over_lines_but_not_into_the_next_record) {
  slow_window window{"AC\r\nGT\n\nA\n>b\nCCCC\n", 3};
  EXPECT_EQ(reach_of(window, {0, true}, 3), 5U);
  EXPECT_EQ(reach_of(window, {0, true}, 5), 9U);
  EXPECT_EQ(reach_of(window, {0, true}, 6), 10U);
  EXPECT_EQ(reach_of(window, {13, true}, 99), 18U);
}

// Feeds `compressed` in steps, takes the text in steps.
std::string inflate(const std::string& compressed, std::size_t in, std::size_t out) {
  gzip_inflater inflater;
  std::string text, piece(out, '\0');
  for (std::size_t at = 0;; at += in) {
    const std::size_t some = at < compressed.size() ? std::min(in, compressed.size() - at) : 0;
    inflater.feed(std::as_bytes(std::span{compressed}).subspan(std::min(at, compressed.size()), some));
    std::size_t got = 0;
    do {
      got = inflater.inflate(piece);
      text.append(piece, 0, got);
    } while (got == out || !inflater.needs_input());
    if (some == 0) break;
  }
  inflater.check_complete();
  return text;
}

TEST(kmer_inflate, members_come_whole_however_they_are_cut) {
  std::mt19937_64 random{8};
  const std::string a = random_letters(random, 100000), b = random_letters(random, 3000), c = "x";
  const std::string compressed = gzip(a) + gzip("") + gzip(b, 0) + gzip(c, 9);
  for (const std::size_t in : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, compressed.size()}) {
    for (const std::size_t out : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 20}) {
      if (in == 1 && out == 1) continue;
      ASSERT_EQ(inflate(compressed, in, out) == a + b + c, true) << in << ' ' << out;
    }
  }
  EXPECT_EQ(inflate(gzip(b) + std::string(1000, '\0'), 100, 100), b);
}

TEST(kmer_inflate, what_is_damaged_or_breaks_off_is_an_error) {
  std::mt19937_64 random{8};
  const std::string text = random_letters(random, 2000);
  const std::string whole = gzip(text);
  for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
    EXPECT_THROW((void)inflate(whole.substr(0, bytes), 64, 4096), stream_error) << bytes;
  }
  for (std::size_t at = whole.size() - 8; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] ^= 4;
    EXPECT_THROW((void)inflate(damaged, 64, 4096), stream_error) << at;
  }
  EXPECT_THROW((void)inflate(whole + "rubbish", 64, 4096), stream_error);
  EXPECT_THROW((void)inflate(whole + std::string(3, '\0') + "rubbish", 64, 4096), stream_error);
}

TEST(kmer_byte_stream, gives_plain_and_compressed_files_alike) {
  const scratch_directory directory;
  std::mt19937_64 random{6};
  const std::string text = random_letters(random, 300000);
  for (const auto& path : {directory.write("plain", text),
                           directory.write("gzip", gzip(text.substr(0, 1000)) + gzip(text.substr(1000)))}) {
    byte_stream stream{path};
    std::string found(text.size() + 1, '\0');
    ASSERT_EQ(stream.read({found.data(), 500}), 500U);
    ASSERT_EQ(stream.read({found.data() + 500, found.size() - 500}), text.size() - 500);
    found.pop_back();
    EXPECT_EQ(found == text, true);
    EXPECT_EQ(stream.bytes_consumed(), std::filesystem::file_size(path));
    EXPECT_EQ(stream.read(found), 0U);
  }
  EXPECT_THROW(byte_stream{directory / "none"}, stream_error);
}

TEST(kmer_spool, replays_all_runs_that_hold_a_kmer_as_often_as_wanted) {
  std::mt19937_64 random{12};
  spool kept{5};
  std::vector<std::string> expected;
  std::uint64_t kmers = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string run = random_letters(random, random() % 100);
    kept.begin_record();
    kept.bases(run.substr(0, run.size() / 2));
    kept.bases(run.substr(run.size() / 2) + "NACGN");  // four letters: too short
    if (run.size() >= 5) expected.push_back(run);
    kmers += run.size() >= 5 ? run.size() - 4 : 0;
  }
  kept.finish();
  EXPECT_EQ(kept.kmers(), kmers);
  for (int pass = 0; pass < 2; ++pass) {
    kept.rewind();
    collector found;
    while (kept.replay(found)) {
    }
    ASSERT_EQ(found.sequences.size(), expected.size());
    EXPECT_EQ(found.sequences == expected, true);
  }
}

}  // namespace
