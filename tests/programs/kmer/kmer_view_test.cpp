// SPDX-License-Identifier: BSD-3-Clause
// The inputs and options that ranks have to see alike before they count, and paths that outputs may not have.
#include <sys/stat.h>
#include <unistd.h>

#include "kmer/input_error.hpp"
#include "kmer/job_view.hpp"
#include "kmer/output_file.hpp"
#include "kmer/output_target.hpp"
#include "programs/kmer_files.hpp"

namespace {

using namespace weft_kmer;
using namespace weft_kmer::test;

class kmer_view : public testing::Test {
 protected:
  job_view view(const std::string& path) const { return view_of({.inputs = {path}}, {examine_input(path)}); }

  // Rank 3's complaint about its view; "" where it takes part.
  static std::string said(const job_view& rank_0, const job_view& mine) {
    return difference_from(view_in(to_text(rank_0)), mine, 3, {"r.fq"});
  }

  scratch_directory directory_;
  const std::string reads_ = to_fastq(std::vector<std::string>(5000, "ACGTACGT"));
};

TEST_F(kmer_view, of_one_machine_has_the_same_file) {
  const std::string path = directory_.write("r.fq", reads_);
  const std::string copy = directory_.write("copy", reads_);
  EXPECT_EQ(said(view(path), view(path)), "");
  EXPECT_NE(said(view(path), view(copy)).find("r.fq: rank 3 finds another file than rank 0"), std::string::npos);
  const job_view other = view(directory_.write("other", ">a\nAC\n"));
  EXPECT_NE(said(view(path), other).find("a file of 6 bytes, FASTA"), std::string::npos) << said(view(path), other);
}

TEST_F(kmer_view, of_other_machines_may_have_copies) {
  const job_view first = view(directory_.write("r.fq", reads_));
  const auto elsewhere = [&](const std::string& text, bool other_mounts) {
    job_view out = view(directory_.write("copy", text));
    (other_mounts ? out.where.mounts : out.where.machine) = "another one";
    return out;
  };
  for (const bool other_mounts : {false, true}) {
    EXPECT_EQ(said(first, elsewhere(reads_, other_mounts)), "");
    for (const std::size_t at : {std::size_t{60}, reads_.size() - 3}) {
      std::string changed = reads_;
      changed[at] ^= 1;
      EXPECT_NE(said(first, elsewhere(changed, other_mounts)).find("other content"), std::string::npos) << at;
    }
  }
}

TEST_F(kmer_view, of_a_pipe_is_for_one_machine) {
  const std::string pipes[] = {directory_ / "one", directory_ / "two"};
  for (const std::string& pipe : pipes) ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(said(view(pipes[0]), view(pipes[0])), "");
  EXPECT_NE(said(view(pipes[0]), view(pipes[1])).find("another pipe or device"), std::string::npos);
  job_view elsewhere = view(pipes[0]);
  elsewhere.where.machine = "another one";
  EXPECT_NE(said(view(pipes[0]), elsewhere).find("another machine"), std::string::npos);
}

TEST_F(kmer_view, of_options_is_compared_first) {
  const job_view first = view_of({.k = 31, .inputs = {"missing"}}, {});
  const job_view mine = view_of({.k = 21, .exact = true, .inputs = {"missing"}}, {});
  EXPECT_EQ(said(first, mine),
            "all ranks need the same options and inputs, but rank 0 has -k 31, and rank 3 has -k 21");
  EXPECT_EQ(said(first, first), "");  // rank 0 itself names the missing files
}

TEST_F(kmer_view, a_sample_has_all_bytes_of_a_small_file_and_both_ends_of_a_large_one) {
  for (const std::size_t bytes : {1000, 4096, 61439, 61440, 65536, 1000000}) {
    std::string text(bytes, 'A');
    text[0] = '>';
    const std::uint64_t before = sample_of(examine_input(directory_.write("x", text)));
    const std::size_t step = bytes > 65536 ? bytes - 2 : 4000;
    for (std::size_t at = 1; at < bytes; at += step) {
      std::string changed = text;
      changed[at] = 'C';
      ASSERT_NE(sample_of(examine_input(directory_.write("x", changed))), before) << at << " of " << bytes;
    }
    text.back() = 'C';
    ASSERT_NE(sample_of(examine_input(directory_.write("x", text))), before) << bytes;
  }
}

TEST(kmer_output_target, follows_links_to_files_and_stops_at_what_is_open) {
  const scratch_directory directory;
  const std::string file = directory.write("file", "");
  for (const auto& [name, target] : {std::pair{"one", "file"}, {"two", "one"}, {"new", "nothing"}}) {
    ASSERT_EQ(::symlink(target, (directory / name).c_str()), 0);
  }
  for (const char* name : {"file", "one", "two", "./file"}) {
    const output_target target = find_output_target(directory / name);
    EXPECT_EQ(std::pair(target.path, target.is_direct), std::pair(std::filesystem::canonical(file).string(), false));
  }
  EXPECT_EQ(find_output_target(directory / "new").path, find_output_target(directory / "nothing").path);
  for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    const output_target target = find_output_target(name);
    EXPECT_EQ(std::pair(target.descriptor, target.is_direct), std::pair(1, true)) << name;
  }
  EXPECT_TRUE(find_output_target("/dev/null").is_direct);
  EXPECT_THROW((void)find_output_target("/no/such/target/out"), job_error);
  EXPECT_THROW((void)find_output_target(""), job_error);
}

TEST(kmer_output_target, an_output_that_another_process_does_not_find_is_refused_early) {
  const scratch_directory directory;
  const output_file made{directory / "out"};
  EXPECT_NO_THROW(check_output_part(directory / "out", made.suffix()));
  EXPECT_THROW(check_output_part(directory / "elsewhere", made.suffix()), job_error);
  EXPECT_THROW(check_output_part("/dev/null", made.suffix()), job_error);
  EXPECT_THROW(check_output_part(directory / "out", 0), job_error);
  EXPECT_NO_THROW(check_output_part("/dev/null", 0));
}

}  // namespace
