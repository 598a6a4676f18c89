// SPDX-License-Identifier: BSD-3-Clause
#include <htslib/bgzf.h>

#include <functional>
#include <memory>

#include "kmer/bgzip.hpp"
#include "kmer/input_error.hpp"
#include "kmer/input_file.hpp"
#include "kmer/kmer.hpp"
#include "kmer/range_source.hpp"
#include "kmer/stream_source.hpp"
#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

void write_bgzip(const std::string& path, const std::string& text, std::size_t block_bytes) {
  BGZF* file = bgzf_open(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  for (std::size_t at = 0; at < text.size(); at += block_bytes) {
    const std::string block = text.substr(at, block_bytes);
    ASSERT_EQ(bgzf_write(file, block.data(), block.size()), static_cast<ssize_t>(block.size()));
    ASSERT_EQ(bgzf_flush(file), 0);
  }
  ASSERT_EQ(bgzf_close(file), 0);
}

// Counts what a source gives.
struct counter {
  unsigned k;
  kmer_window<wide> window{k};
  kmer_counts counts{};
  std::uint64_t records = 0;

  void begin_record() { window.reset(); }
  void bases(std::string_view letters) {
    for (const char letter : letters) {
      if (window.push(code_of(letter))) ++counts[to_letters(window.canonical(), k)];
    }
  }
  void take_all(chunk_source& source) {
    text_chunk chunk;
    while (source.next(chunk) == chunk_answer::chunk) records += parse(chunk.piece(), k, *this);
  }
};

class kmer_source : public testing::Test {
 protected:
  // All ranks together find each k-mer as often as it is there, however the file is cut.
  void expect_counts(const std::string& path, const std::vector<std::string>& sequences, unsigned k,
                     std::initializer_list<std::size_t> chunks) {
    kmer_counts expected;
    for (const auto& sequence : sequences) count_slowly(expected, sequence, k);
    const input_file file = examine_input(path);
    for (const std::size_t chunk_bytes : chunks) {
      counter whole{k};
      stream_source stream{path, k, chunk_bytes};
      whole.take_all(stream);
      ASSERT_EQ(whole.counts == expected, true) << path << " as a stream, " << chunk_bytes;
      ASSERT_EQ(whole.records, sequences.size());
      if (file.kind == file_kind::gzip) continue;
      for (const unsigned ranks : {1U, 3U}) {
        counter parts{k};
        std::uint64_t bytes = 0;
        for (unsigned rank = 0; rank < ranks; ++rank) {
          for (const input_range& range : plan_ranges({file}, rank, ranks)) {
            range_source source{file, range, k, chunk_bytes};
            parts.take_all(source);
            bytes += source.bytes_consumed();
          }
        }
        ASSERT_EQ(parts.counts == expected, true) << path << ' ' << ranks << " ranks, " << chunk_bytes;
        ASSERT_EQ(parts.records, sequences.size());
        ASSERT_EQ(bytes, file.bytes);
      }
    }
  }

  void expect_counts_in_all_files(const std::string& name, const std::string& text,
                                  const std::vector<std::string>& sequences, unsigned k,
                                  std::initializer_list<std::size_t> chunks) {
    expect_counts(directory_.write(name, text), sequences, k, chunks);
    expect_counts(directory_.write(name + ".gz", gzip(text)), sequences, k, chunks);
    for (const std::size_t block_bytes : {90, 5000, 65280}) {
      const std::string path = directory_ / (name + std::to_string(block_bytes) + ".bgz");
      write_bgzip(path, text, block_bytes);
      ASSERT_EQ(examine_input(path).kind, file_kind::bgzip);
      expect_counts(path, sequences, k, chunks);
    }
  }

  scratch_directory directory_;
  std::mt19937_64 random_{21};
};

TEST_F(kmer_source, fastq_gives_each_kmer_as_often_as_it_is_there) {
  std::vector<std::string> reads;
  for (int i = 0; i < 150; ++i)
    reads.push_back(random_letters(random_, random_() % 150, "ACGTACGTACGTACGTACGTACGTACGTN"));
  expect_counts_in_all_files("reads.fq", to_fastq(reads), reads, 21, {37, 1000, 30000});
}

TEST_F(kmer_source, fasta_gives_each_kmer_as_often_as_it_is_there) {
  std::vector<std::string> sequences;
  for (int i = 0; i < 20; ++i) sequences.push_back(random_letters(random_, 1 + random_() % (i % 4 == 0 ? 5000 : 50)));
  for (const std::size_t width : {60, 3}) {
    expect_counts_in_all_files("genome.fa", to_fasta(sequences, width), sequences, 33, {700, 9000});
  }
}

TEST_F(kmer_source, fasta_with_carriage_returns_alone_gives_each_kmer_as_often_as_it_is_there) {
  std::vector<std::string> sequences;
  for (int i = 0; i < 20; ++i) sequences.push_back(random_letters(random_, 1 + random_() % (i % 4 == 0 ? 5000 : 50)));
  for (const std::size_t width : {60, 3}) {
    std::string text = to_fasta(sequences, width);
    std::replace(text.begin(), text.end(), '\n', '\r');
    expect_counts_in_all_files("genome.fa", text, sequences, 33, {700, 9000});
  }
}

TEST_F(kmer_source, fasta_may_have_longer_lines_than_any_piece) {
  const std::vector<std::string> sequences{random_letters(random_, 10), random_letters(random_, 140000), "ACGT"};
  expect_counts(directory_.write("long.fa", to_fasta(sequences, 1000000)), sequences, 40, {30000, 80000});
}

std::string explanation(const std::string& path, std::size_t chunk_bytes) {
  const input_file file = examine_input(path);
  range_source source{file, {0, 0, file.bytes}, 5, chunk_bytes};
  text_chunk chunk;
  counter ignored{5};
  try {
    while (source.next(chunk) == chunk_answer::chunk) {
      try {
        (void)parse(chunk.piece(), 5, ignored);
      } catch (const record_error& e) {
        return source.explain(chunk, e);
      }
    }
  } catch (const job_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST_F(kmer_source, a_bad_record_is_found_and_numbered_wherever_a_file_is_cut) {
  std::vector<std::string> reads(200, "ACGTACGT");
  std::string text = to_fastq(reads);
  const std::size_t record = text.find("@read 150\n");
  text.erase(record + 10 + 9 + 2, 9);  // its quality line
  const std::string path = directory_.write("bad.fq", text);
  for (std::size_t chunk_bytes = 20; chunk_bytes < 100; ++chunk_bytes) {
    const std::string found = explanation(path, chunk_bytes);
    ASSERT_EQ(found.substr(0, path.size() + 14), path + ": record 151: ") << found;
  }
}

TEST_F(kmer_source, a_bgzip_file_that_breaks_off_is_an_error) {
  const std::string text = to_fastq(std::vector<std::string>(200, "ACGTACGT"));
  const std::string path = directory_ / "whole.gz";
  write_bgzip(path, text, 500);
  const std::string whole = content_of(path);
  EXPECT_EQ(explanation(path, 100), "accepted");
  for (std::size_t bytes = whole.size() - 100; bytes < whole.size(); ++bytes) {
    const std::string found = explanation(directory_.write("cut.gz", whole.substr(0, bytes)), 100);
    ASSERT_NE(found, "accepted") << bytes;
  }
}

// The file is `text` when it is looked at, and changed when a third of it has been read.
std::string said_of_change(const scratch_directory& directory, const std::string& name, const std::string& text,
                           const std::function<void(const std::string&)>& change) {
  const std::string path = directory.write(name, text);
  const input_file file = examine_input(path);
  const auto source = [&]() -> std::unique_ptr<chunk_source> {
    if (file.kind == file_kind::gzip) return std::make_unique<stream_source>(file, 5);
    return std::make_unique<range_source>(file, input_range{0, 0, file.bytes}, 5, file.bytes / 3);
  }();
  counter found{5};
  text_chunk chunk;
  try {
    if (source->next(chunk) != chunk_answer::chunk) return "nothing";
    change(path);
    (void)parse(chunk.piece(), 5, found);
    found.take_all(*source);
  } catch (const job_error& e) {
    return std::string{e.what()}.substr(path.size());
  } catch (const record_error& e) {
    return source->explain(chunk, e).substr(path.size());
  }
  return "accepted";
}

TEST_F(kmer_source, a_file_that_changes_while_it_is_read_is_an_error) {
  const std::string record = "@a\nACGTACGT\n+\nIIIIIIII\n";
  std::string reads;
  for (int i = 0; i < 60000; ++i) reads += record;
  const std::string fasta = ">a\n" + std::string(3000000, 'A') + '\n';
  const std::string half = gzip(reads);
  for (const auto& [name, text] : {std::pair{"r.fq", reads}, {"g.fa", fasta}, {"r.fq.gz", half + half}}) {
    EXPECT_EQ(said_of_change(directory_, name, text, [](auto&) {}), "accepted");
    const std::size_t kept = text == fasta ? 2000000 : text == reads ? 40000 * record.size() : half.size();
    const auto cut = [&](const std::string& path) { std::filesystem::resize_file(path, kept); };
    EXPECT_EQ(said_of_change(directory_, name, text, cut), ": was changed since the job began: it had " +
                                                               std::to_string(text.size()) + " bytes, and now has " +
                                                               std::to_string(kept));
    const auto grow = [&](const std::string& path) { std::ofstream{path, std::ios::app} << text.substr(0, 100); };
    EXPECT_EQ(said_of_change(directory_, name, text, grow), ": was changed since the job began: it had " +
                                                                std::to_string(text.size()) + " bytes, and now has " +
                                                                std::to_string(text.size() + 100));
    const auto touch = [](const std::string& path) {
      std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds{1});
    };
    EXPECT_EQ(said_of_change(directory_, name, text, touch), ": was changed since the job began: it was written to");
  }
}

TEST(kmer_plan, whole_files_are_dealt_evenly_and_streams_go_to_rank_0) {
  const auto gz = [](std::uint64_t bytes) { return input_file{"x.gz", file_kind::gzip, bytes, text_format::fastq}; };
  const std::vector<input_file> files{gz(10),
                                      gz(30),
                                      gz(20),
                                      gz(9),
                                      {"-", file_kind::stream, 0, text_format::fastq},
                                      {"p", file_kind::uncompressed, 10, text_format::fasta}};
  std::vector<std::uint64_t> whole_bytes(3);
  std::vector<unsigned> readers(files.size());
  for (unsigned rank = 0; rank < 3; ++rank) {
    for (const input_range& range : plan_ranges(files, rank, 3)) {
      ++readers[range.file];
      if (files[range.file].kind == file_kind::stream) {
        EXPECT_EQ(rank, 0U);
      }
      if (files[range.file].kind == file_kind::gzip) whole_bytes[rank] += range.end - range.begin;
    }
  }
  EXPECT_EQ(readers, (std::vector<unsigned>{1, 1, 1, 1, 1, 3}));
  EXPECT_EQ(*std::max_element(whole_bytes.begin(), whole_bytes.end()), 30U);
}

TEST(kmer_plan, estimates_are_close_for_even_reads) {
  const scratch_directory directory;
  std::mt19937_64 random{1};
  std::vector<std::string> reads;
  for (int i = 0; i < 10000; ++i) reads.push_back(random_letters(random, 100));
  for (const std::string& path :
       {directory.write("a.fq", to_fastq(reads)), directory.write("a.gz", gzip(to_fastq(reads)))}) {
    const input_file file = examine_input(path);
    const auto expected = static_cast<double>(estimate_kmers(file, {0, 0, file.bytes}, 31));
    EXPECT_NEAR(expected / (10000 * 70), 1, 0.2) << path;
  }
}

TEST(kmer_plan, what_is_no_file_of_reads_is_refused) {
  const scratch_directory directory;
  EXPECT_THROW((void)examine_input(directory / "missing"), job_error);
  EXPECT_THROW((void)examine_input(directory / "."), job_error);
  EXPECT_THROW((void)examine_input(directory.write("empty", "")), job_error);
  EXPECT_THROW((void)examine_input(directory.write("empty.gz", gzip(""))), job_error);
  EXPECT_THROW((void)examine_input(directory.write("text", "hello")), job_error);
}

}  // namespace
