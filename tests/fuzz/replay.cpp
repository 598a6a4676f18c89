// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target on inputs that were kept (files, or folders of them), then on some made from these:
//   TARGET [--mutations COUNT] [--seed SEED] PATH...
// Where an input ends the process, it is printed in hexadecimal digits. With --overflow it writes one byte behind a
// block of memory instead of anything else: the checks of the allocator have to notice.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <string_view>
#include <vector>

#include "fuzz/input.hpp"
#include "fuzz/mutator.hpp"

// The sanitizers' own, where there is one.
extern "C" [[gnu::weak]] void __sanitizer_set_death_callback(void (*callback)());

namespace {

using weft::fuzz::bytes;

// Sizes of peers' are bounded by the memory that there can be, not by a sensible number: enough for every target, and
// no machine is brought down.
constexpr rlim_t memory_bytes_max = rlim_t{256} << 20;

const bytes* running = nullptr;

void print_running() {
  if (running == nullptr) return;
  constexpr char digits[] = "0123456789abcdef";
  static char text[2 * weft::fuzz::mutator::size_max + 2] = "\n";
  std::size_t end = 1;
  for (const std::uint8_t each : *running) {
    if (end + 2 >= sizeof text) break;
    text[end++] = digits[each >> 4];
    text[end++] = digits[each & 15];
  }
  text[end++] = '\n';
  static_cast<void>(!::write(STDERR_FILENO, text, end));
}

void die(int signal) {
  print_running();
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void watch() {
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(print_running);
    return;
  }
  for (const int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) std::signal(signal, die);
  const rlimit limit{memory_bytes_max, memory_bytes_max};
  ::setrlimit(RLIMIT_DATA, &limit);
}

void read_all(const std::filesystem::path& path, std::vector<bytes>& out) {
  if (std::filesystem::is_directory(path)) {
    std::vector<std::filesystem::path> inside;
    for (const auto& each : std::filesystem::directory_iterator{path}) inside.push_back(each.path());
    std::sort(inside.begin(), inside.end());  // a seed means one run on every machine
    for (const auto& each : inside) read_all(each, out);
    return;
  }
  std::ifstream file{path, std::ios::binary};
  out.emplace_back(std::istreambuf_iterator<char>{file}, std::istreambuf_iterator<char>{});
}

void run(const bytes& input) {
  running = &input;
  LLVMFuzzerTestOneInput(input.data(), input.size());
  running = nullptr;
}

void overflow() {
  const volatile std::size_t size = 24;  // which no compiler may look through
  auto* const block = static_cast<volatile char*>(std::malloc(size));
  block[size] = 0;
  std::free(const_cast<char*>(block));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bytes> kept;
  std::uint64_t mutations = 0, seed = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--overflow") overflow();
    if (word == "--mutations" && i + 1 < argc) {
      mutations = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (!word.starts_with("--")) {
      read_all(word, kept);
    }
  }
  if (kept.empty()) return 1;
  watch();
  for (const bytes& each : kept) run(each);
  std::printf("%zu inputs\n", kept.size());
  std::printf("%llu made from them, seed %llu\n", static_cast<unsigned long long>(mutations),
              static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  weft::fuzz::mutator more{seed, std::move(kept)};
  for (std::uint64_t i = 0; i < mutations; ++i) run(more.next());
  return 0;
}
