// Runs a fuzz target on inputs that were kept: files, or folders of them.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "fuzz/input.hpp"

namespace {

std::size_t run(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) {
    std::ifstream file{path, std::ios::binary};
    const std::vector<char> bytes{std::istreambuf_iterator<char>{file}, {}};
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    return 1;
  }
  std::size_t count = 0;
  for (const auto& each : std::filesystem::directory_iterator{path}) count += run(each.path());
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) count += run(argv[i]);
  std::printf("%zu inputs\n", count);
  return count > 0 ? 0 : 1;
}
