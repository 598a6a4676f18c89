// SPDX-License-Identifier: BSD-3-Clause
#include "kmer/histogram.hpp"
#include "kmer/input_error.hpp"
#include "kmer/letter_tally.hpp"
#include "kmer/options.hpp"
#include "kmer/output_file.hpp"
#include "kmer/progress_bar.hpp"
#include "kmer/summary.hpp"
#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

TEST(kmer_output_file, gets_its_name_when_it_is_whole) {
  const scratch_directory directory;
  const std::string path = directory.write("out", "as it was");
  {
    output_file file{path};
    output_part last{path, file.suffix(), 6}, first{path, file.suffix(), 0};
    std::copy_n("second", 6, last.reserve(6));
    last.flush();
    std::copy_n("first ", 6, first.reserve(6));
    first.flush();
    EXPECT_EQ(content_of(path), "as it was");
    file.commit();
  }
  EXPECT_EQ(content_of(path), "first second");
  EXPECT_EQ(directory.files(), 1U);
}

TEST(kmer_output_file, leaves_nothing_behind_without_commit) {
  const scratch_directory directory;
  {
    output_file file{directory / "out"};
    file.write("half");
  }
  EXPECT_EQ(directory.files(), 0U);
}

TEST(kmer_output_file, says_what_is_wrong_with_an_output) {
  EXPECT_THROW(output_file{"/no/such/place/out"}, job_error);
  output_file full{"/dev/full"};
  EXPECT_THROW(full.write("x"), job_error);
  output_part part{"/dev/full", full.suffix(), 0};
  *part.reserve(1) = 'x';
  EXPECT_THROW(part.flush(), job_error);
}

TEST(kmer_histogram, has_lines_for_counts_that_occur_and_one_for_those_above_10000) {
  histogram h;
  for (const std::uint64_t count : {1, 1, 3, 10000, 10001, 20000}) h.add(count);
  EXPECT_EQ(h.to_text(1), "1 2\n3 1\n10000 1\n10001 2\n");
  EXPECT_EQ(h.to_text(2), "3 1\n10000 1\n10001 2\n");
}

TEST(kmer_progress, the_line_says_how_far_how_fast_and_how_long) {
  EXPECT_EQ(progress_line(25'000'000, 100'000'000, 5, 50), "[=====                 ]  25%, 5.0 MB/s, 0:15 left");
  EXPECT_EQ(progress_line(0, 100, 0, 80).substr(56), "]   0%, 0.0 MB/s, ? left");
  EXPECT_EQ(progress_line(3'600'000'000, 0, 3600, 80), " 3600.0 MB, 1.0 MB/s");
  EXPECT_LE(progress_line(50, 100, 10, 12).size(), 12U);
}

command_line parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "weft-kmer");
  return read_command_line(static_cast<int>(arguments.size()), arguments.data());
}

TEST(kmer_options, are_read_from_the_command_line) {
  const auto line = parse({"count", "-k", "51", "--threads", "3", "--exact", "--strand", "--min-count", "2", "--counts",
                           "c", "--histogram", "h", "--no-progress", "a", "-"});
  ASSERT_LT(line.exit_code, 0) << line.text;
  EXPECT_EQ(line.count.k, 51U);
  EXPECT_EQ(line.count.threads, 3U);
  EXPECT_TRUE(line.count.exact && line.count.strand && !line.count.show_progress);
  EXPECT_EQ(line.count.count_min, 2U);
  EXPECT_EQ(line.count.counts_path + line.count.histogram_path, "ch");
  EXPECT_EQ(line.count.inputs, (std::vector<std::string>{"a", "-"}));
}

TEST(kmer_options, wrong_ones_are_refused_with_one_text) {
  for (const char* k : {"0", "64", "-1", "x", "99999999999"}) {
    const auto line = parse({"count", "-k", k, "a"});
    EXPECT_EQ(line.exit_code, 2) << k;
    EXPECT_NE(line.text.find("-k"), std::string::npos) << line.text;
  }
  for (const char* option : {"-k", "--threads", "--min-count"}) {
    for (const char* value : {"", " ", " 3", "3 ", "3x", "0x3", "3.0", "3e0", "nan", "inf", "-3", " -3", "0", "+-3",
                              "18446744073709551616", "-18446744073709551613"}) {
      const auto line = parse({"count", option, value, "a"});
      EXPECT_EQ(line.exit_code, 2) << option << " '" << value << "'";
      EXPECT_NE(line.text.find(option), std::string::npos) << line.text;
    }
    EXPECT_LT(parse({"count", option, "010", "a"}).exit_code, 0);
  }
  EXPECT_EQ(parse({"count", "-k", "010", "a"}).count.k, 10U);
  EXPECT_EQ(parse({"count", "--min-count", "18446744073709551615", "a"}).count.count_min, ~std::uint64_t{0});
  for (const char* option : {"--counts", "--histogram"}) EXPECT_EQ(parse({"count", option, "", "a"}).exit_code, 2);
  EXPECT_EQ(parse({"count", ""}).exit_code, 2);
  EXPECT_EQ(parse({"count"}).exit_code, 2);
  EXPECT_EQ(parse({}).exit_code, 2);
  EXPECT_EQ(parse({"count", "--threads", "0", "a"}).exit_code, 2);
  EXPECT_EQ(parse({"--help"}).exit_code, 0);
  EXPECT_THROW(check_options({.inputs = {"-", "-"}}, 1), job_error);
  EXPECT_THROW(check_options({.inputs = {"-"}}, 2), job_error);
  EXPECT_THROW(check_options({.counts_path = "x", .histogram_path = "x", .inputs = {"a"}}, 1), job_error);
}

TEST(kmer_options, all_ranks_need_as_many_threads_as_rank_0) {
  const auto problem = [](const std::vector<rank_threads>& by_rank) {
    try {
      check_threads(by_rank);
      return std::string{};
    } catch (const job_error& e) {
      return std::string{e.what()};
    }
  };
  EXPECT_EQ(problem({{2, 8}, {2, 4}, {2, 2}}), "");
  EXPECT_EQ(problem({{2, 8}, {3, 4}, {2, 2}, {5, 8}}),
            "all ranks need the same number of threads, but rank 0 has 2, rank 1 has 3, rank 3 has 5: give all of them "
            "the same --threads");
  EXPECT_NE(problem({{1, 8}, {2, 8}, {2, 8}, {2, 8}, {2, 8}, {2, 8}, {2, 8}}).find("rank 4 has 2, and 2 more differ"),
            std::string::npos);
  EXPECT_NE(problem({{4, 8}, {4, 3}}).find("--threads 4: at most 3 on rank 1"), std::string::npos);
}

TEST(kmer_summary, warns_of_no_kmers_and_of_letters_that_no_nucleic_acid_has) {
  job_report report;
  report.threads_per_rank = 1;
  report.threads = {{.reads = 4}, {.reads = 6}};
  EXPECT_EQ(warnings_of(report, {.k = 31}),
            "weft-kmer: warning: 10 records, and no k-mer: no 31 letters in a row (-k) are all of A, C, G, T and U\n");
  report.threads[0].kmers = 1;
  EXPECT_EQ(warnings_of(report, {.k = 31}), "");
  report.threads[1].strange_letters = 3;
  report.threads[1].strange_letter = 'L';
  EXPECT_EQ(warnings_of(report, {.k = 31}),
            "weft-kmer: warning: about 3 letters of the sequences are of no nucleic acid, as "
            "'L': are these proteins?\n");
  report.threads[0].strange_letters = 1;
  report.threads[0].strange_letter = ' ';
  EXPECT_EQ(
      warnings_of(report, {.k = 31}),
      "weft-kmer: warning: about 4 letters of the sequences are of no nucleic acid, as ' ', and no k-mer has them\n");
}

TEST(kmer_letters, of_nucleic_acids_and_gaps_are_not_strange) {
  letter_tally tally;
  for (const char letter : std::string_view{"ACGTURYSWKMBDHVNXacgturyswkmbdhvnx-.*"}) tally.skip(letter);
  EXPECT_EQ(tally.strange(), 0U);
  for (const char letter : std::string_view{"LEFIJOPQZz 0@"}) tally.skip(letter);
  EXPECT_EQ(tally.strange(), 13U);
  EXPECT_EQ(tally.first_strange(), 'L');
}

TEST(kmer_summary, knows_the_kmers_seen_once_that_the_filters_dropped) {
  job_report report;
  report.threads_per_rank = 1;
  report.threads = {{.reads = 4, .kmers = 100, .distinct = 10, .occurrences = 30, .served = 120},
                    {.reads = 6, .kmers = 100, .distinct = 20, .occurrences = 50, .served = 280}};
  const std::string text = summary_of(report, {.k = 31});
  for (const char* line :
       {"reads                10\n", "k-mers               200 (k = 31, canonical)\n", "distinct             150\n",
        "seen once            120\n", "rank 1 thread 0: read 100 k-mers, served 280\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "not in:\n" << text;
  }
}

}  // namespace
