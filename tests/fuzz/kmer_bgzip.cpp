// SPDX-License-Identifier: BSD-3-Clause
// A compressed file, whole or damaged, of one block or many: refused with a message that says why, or read.
//
// Read in parts, a damaged one may be found wrong where it is right in order: what looks like a block may lie in one.
#include "fuzz/kmer_file.hpp"
#include "kmer/bgzip.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace weft::fuzz;
  input in{data, size};
  const std::size_t chunk_bytes = 1 + in.take<std::uint8_t>();
  const unsigned ranks = 1 + in.take<std::uint8_t>() % 4U;
  const std::string_view bytes = in.take_rest();
  const auto head = std::as_bytes(std::span{bytes}.first(std::min(bytes.size(), weft_kmer::bgzip_header_bytes)));
  require(weft_kmer::bgzip_block_bytes(head) <= std::size_t{64} << 10, "a block of more than 64 KiB");
  const memory_file content{bytes};
  const std::string path = content.path();
  try {
    const weft_kmer::input_file file = weft_kmer::examine_input(path);
    if (file.kind == weft_kmer::file_kind::uncompressed) return 0;
    static_cast<void>(read_in_order(path, 5, 4 * chunk_bytes));
    if (file.kind == weft_kmer::file_kind::bgzip) static_cast<void>(read_in_parts(file, 5, chunk_bytes, ranks));
  } catch (const weft_kmer::job_error& problem) {
    require(std::string_view{problem.what()}.size() > 10, "an error without words");
  }
  return 0;
}
