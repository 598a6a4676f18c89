// SPDX-License-Identifier: BSD-3-Clause
// Text that should be FASTA or FASTQ: refused with a message that says why, or read as it is, however it is cut.
#include "fuzz/kmer_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  input in{data, size};
  const unsigned k = 1 + in.take<std::uint8_t>() % 8U;
  const std::size_t chunk_bytes = 1 + in.take<std::uint8_t>();
  const unsigned ranks = 1 + in.take<std::uint8_t>() % 4U;
  const std::string_view text = in.take_rest();
  const memory_file content{text};
  const std::string path = content.path();
  weft_kmer::input_file file;
  try {
    file = weft_kmer::examine_input(path);
  } catch (const weft_kmer::job_error&) {
    return 0;
  }
  if (file.kind != weft_kmer::file_kind::uncompressed) return 0;
  const auto whole = read_in_order(path, k, std::size_t{1} << 20);
  const auto pieces = read_in_order(path, k, chunk_bytes);
  const auto parts = read_in_parts(file, k, chunk_bytes, ranks);
  require(pieces == whole, "read in pieces it says something else");
  require(parts == whole, "read in parts it says something else");
  require(weft_kmer::first_error(path, k).empty() == whole.has_value(), "an error that is there, and is not");
  static_cast<void>(weft_kmer::estimate_kmers(file, {0, 0, file.bytes}, k));
  return 0;
}
