// SPDX-License-Identifier: BSD-3-Clause
// The whole job over ranks that are threads of this process, where sanitizers see all of them.
#include "kmer/count_job.hpp"
#include "kmer/histogram.hpp"
#include "programs/kmer_files.hpp"
#include "support/between_threads.hpp"
#include "weft/test/local_job.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

class kmer_job : public testing::Test {
 protected:
  // How many ranks say that all went well.
  unsigned run(unsigned ranks, const count_options& options) {
    weft::test::tally<unsigned> well;
    weft::test::local_job{ranks}.run([&](weft::runtime& rt) {
      exchange link{rt, options.threads};
      if (run_count_job(link, options)) well.add();
      rt.barrier();
    });
    return well.value();
  }

  std::vector<std::string> make_reads(std::size_t count) {
    const std::string genome = random_letters(random_, 5000);
    std::vector<std::string> reads(count);
    for (auto& read : reads) read = genome.substr(random_() % 4900, 100);
    return reads;
  }

  scratch_directory directory_;
  std::mt19937_64 random_{33};
};

TEST_F(kmer_job, counts_are_right_for_any_number_of_ranks_and_threads) {
  const auto reads = make_reads(1600);
  const std::string half = to_fastq({reads.begin(), reads.begin() + 800});
  const std::string rest = to_fastq({reads.begin() + 800, reads.end()});
  count_options options{.show_progress = false};
  options.counts_path = directory_ / "counts";
  options.histogram_path = directory_ / "histogram";
  options.inputs = {directory_.write("half.fq", half), directory_.write("rest.fq.gz", gzip(rest))};
  for (const unsigned k : {21U, 51U}) {
    kmer_counts expected;
    for (const auto& read : reads) count_slowly(expected, read, k);
    options.k = k;
    for (const bool exact : {true, false}) {
      options.exact = exact;
      if (!exact) std::erase_if(expected, [](const auto& entry) { return entry.second < 2; });
      histogram tallies;
      for (const auto& [kmer, count] : expected) tallies.add(count);
      for (const auto& [ranks, threads] : {std::pair{1U, 1U}, {1U, 3U}, {2U, 2U}, {3U, 1U}, {4U, 2U}}) {
        options.threads = threads;
        ASSERT_EQ(run(ranks, options), ranks);
        kmer_counts found;
        std::ifstream file{options.counts_path};
        for (std::string kmer, count; file >> kmer >> count;) found[kmer] += std::stoull(count);
        ASSERT_EQ(found == expected, true) << ranks << " ranks, " << threads << " threads, k = " << k;
        ASSERT_EQ(content_of(options.histogram_path), tallies.to_text(1));
      }
    }
  }
}

TEST_F(kmer_job, a_bad_record_fails_the_job_on_every_rank_and_leaves_no_output) {
  count_options options{.k = 31, .threads = 2, .show_progress = false};
  options.counts_path = directory_ / "counts";
  options.histogram_path = directory_ / "histogram";
  const std::string text = to_fastq(make_reads(3000));
  options.inputs = {directory_.write("good.fq", text),
                    directory_.write("bad.fq.gz", gzip(text + "@last\nACGT\n+\nI\n"))};
  for (const bool exact : {true, false}) {
    options.exact = exact;
    testing::internal::CaptureStderr();
    EXPECT_EQ(run(3, options), 0U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "weft-kmer: " + options.inputs[1] + ": record 3001: the sequence has 4 letters, its quality line 1\n");
    EXPECT_EQ(directory_.files(), 2U);
  }
}

TEST_F(kmer_job, what_is_wrong_from_the_start_is_said_once) {
  count_options options{.threads = 2, .show_progress = false};
  options.inputs = {directory_ / "missing"};
  testing::internal::CaptureStderr();
  EXPECT_EQ(run(2, options), 0U);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(text, "weft-kmer: " + options.inputs[0] + ": cannot be read: No such file or directory\n");
}

TEST(kmer_exchange, agrees_on_sums_of_any_length_and_on_failures) {
  weft::test::local_job{3}.run([](weft::runtime& rt) {
    exchange all{rt, 1};
    endpoint& link = all.at(0);
    std::vector<std::uint64_t> values(1500);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = i * (rt.rank() + 1);
    link.sum(values);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], 6 * i);
    EXPECT_FALSE(link.agree({}).failed);
    const std::string mine = rt.rank() == 2 ? std::string(5000, 'x') : "";
    const agreement result = link.agree({.values = {1}, .failure = mine});
    EXPECT_TRUE(result.failed);
    EXPECT_EQ(result.sums, std::vector<std::uint64_t>{3});
    if (rt.rank() == 0) {
      EXPECT_EQ(result.statements[2].failure, std::string(failure_bytes_max, 'x'));
    }
    rt.barrier();
  });
}

TEST(kmer_exchange, a_pass_ends_when_all_that_was_sent_has_come) {
  constexpr std::uint64_t messages = 3000;
  weft::test::local_job{3}.run([](weft::runtime& rt) {
    exchange all{rt, 1};
    endpoint& link = all.at(0);
    for (int pass = 0; pass < 3; ++pass) {
      std::uint64_t received = 0;
      link.receive_with([&](std::span<const std::byte> data) { received += data.size(); });
      (void)link.agree({});
      const std::vector<std::byte> data(message_bytes_max);
      for (std::uint64_t i = 0; i < messages; ++i) link.send(static_cast<unsigned>(i % 3), data);
      link.finish_pass();
      EXPECT_EQ(received, messages * message_bytes_max);
      (void)link.agree({});
    }
    rt.barrier();
  });
}

}  // namespace
