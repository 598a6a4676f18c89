// SPDX-License-Identifier: BSD-3-Clause
// Messages, puts and gets of more than 4 GiB between two processes, in memory of some megabytes.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <set>

#include "process/am_load.hpp"

namespace weft::test {

inline constexpr std::size_t huge_bytes = (std::size_t{1} << 32) + (std::size_t{200} << 20) + 5;

/// The places whose contents are checked: the ends, around 2^31 and 2^32, and some at random.
class windows {
 public:
  static constexpr std::size_t bytes = 4096;

  explicit windows(std::uint64_t seed) {
    for (const std::size_t middle : {std::size_t{1} << 31, std::size_t{1} << 32}) {
      offsets_.insert(middle - bytes);
      offsets_.insert(middle);
    }
    offsets_.insert(0);
    offsets_.insert(huge_bytes - bytes);
    std::mt19937_64 random{seed};
    while (offsets_.size() < 40) offsets_.insert(random() % (huge_bytes - bytes));
  }

  [[nodiscard]] const std::set<std::size_t>& offsets() const noexcept { return offsets_; }
  /// Whether one of them has a byte in the chunk from `first` to `last`.
  [[nodiscard]] bool touch(std::size_t first, std::size_t last) const {
    const auto behind = offsets_.lower_bound(last);
    return behind != offsets_.begin() && *std::prev(behind) + bytes > first;
  }

 private:
  std::set<std::size_t> offsets_;
};

/// Memory of `huge_bytes` bytes. Pages that are only read are the kernel's page of zeroes. Where it is to be written,
/// all chunks without a window are one piece of memory, whose contents no rank looks at.
class huge_memory {
 public:
  enum class use : std::uint8_t { read, written };

  huge_memory(const windows& where, use how) : windows_{where} {
    void* const memory =
        ::mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "no address space");
    data_ = static_cast<std::byte*>(memory);
    if (how == use::written) map_the_rest_to_one_chunk();
  }
  ~huge_memory() { ::munmap(data_, mapped_bytes); }
  huge_memory(const huge_memory&) = delete;
  huge_memory& operator=(const huge_memory&) = delete;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::span<std::byte> span() const noexcept { return {data_, huge_bytes}; }

  void fill(std::uint64_t seed) {
    for (const std::size_t offset : windows_.offsets()) {
      for (std::size_t i = offset; i < offset + windows::bytes; ++i) data_[i] = byte_of(seed, i);
    }
  }
  void clear() {
    for (const std::size_t offset : windows_.offsets()) std::memset(data_ + offset, 0, windows::bytes);
    std::memset(data_ + huge_bytes, 0, mapped_bytes - huge_bytes);
  }
  void expect(std::uint64_t seed, const char* description) const {
    for (const std::size_t offset : windows_.offsets()) {
      for (std::size_t i = offset; i < offset + windows::bytes; ++i) {
        require(data_[i] == byte_of(seed, i), fmt::format("{}: byte {} is wrong", description, i));
      }
    }
    for (std::size_t i = huge_bytes; i < mapped_bytes; ++i) {
      require(data_[i] == std::byte{}, fmt::format("{}: something was written behind the last byte", description));
    }
  }

 private:
  static constexpr std::size_t chunk_bytes = std::size_t{2} << 20;
  static constexpr std::size_t mapped_bytes = (huge_bytes / chunk_bytes + 1) * chunk_bytes;

  void map_the_rest_to_one_chunk() {
    const int file = ::memfd_create("huge", MFD_CLOEXEC);
    require(file >= 0 && ::ftruncate(file, chunk_bytes) == 0, "no memory file");
    for (std::size_t first = 0; first < mapped_bytes; first += chunk_bytes) {
      if (windows_.touch(first, first + chunk_bytes)) continue;
      void* const chunk = ::mmap(data_ + first, chunk_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
      require(chunk != MAP_FAILED, "no mapping");
    }
    ::close(file);
  }

  const windows& windows_;
  std::byte* data_;
};

/// Rank 0 posts, rank 1 is its peer. Each operation moves a `huge_memory` into another one.
class huge_rank : private buffer_allocator {
 public:
  explicit huge_rank(runtime& rt) : rt_{rt}, windows_{agree(rt, std::random_device{}())} {}

  /// Active messages take the path of sends where both travel in packets.
  void run(bool with_active_message) {
    const memory_region source{rt_, source_.span()}, target{rt_, target_.span()};
    const auto registered = rt_.register_completion(inbox_, {.id = 2, .allocator = this});
    const auto from = exchange(rt_, source.handle(), 3), to = exchange(rt_, target.handle(), 4);
    if (with_active_message) check(1, "active message", [&] { rt_.rank() == 0 ? send_message() : receive_message(); });
    check(1, "send", [&] { rt_.rank() == 0 ? send() : receive(); });
    check(1, "put", [&] {
      if (rt_.rank() == 0)
        complete([&] { return dev().post_put(1, whole(), {to, 0}, local_, options<post_put_options>()); });
    });
    check(0, "get", [&] {
      if (rt_.rank() == 0)
        complete([&] { return dev().post_get(1, target_.span(), {from, 0}, local_, options<post_get_options>()); });
    });
  }

 private:
  [[nodiscard]] device& dev() { return rt_.default_device(); }
  [[nodiscard]] const_buffer_ref whole() const { return {source_.data(), huge_bytes}; }
  template <class Options>
  [[nodiscard]] static Options options() {
    Options out;
    out.allow_done = false;
    if constexpr (requires { out.complete_at; }) out.complete_at = completion_level::delivered;
    return out;
  }

  // `transfer` moves the bytes to rank `receiver`.
  template <class Transfer>
  void check(std::uint32_t receiver, const char* description, const Transfer& transfer) {
    ++seed_;
    source_.fill(seed_ * 2 + rt_.rank());
    target_.clear();
    rt_.barrier();
    transfer();
    rt_.barrier();
    if (rt_.rank() == receiver) target_.expect(seed_ * 2 + 1 - receiver, description);
    rt_.barrier();
  }

  [[nodiscard]] completion_record next(completion_queue& from) {
    std::optional<completion_record> got;
    require(eventually(dev(), [&] { return (got = from.pop()).has_value(); }), "nothing came within a minute");
    require(got->error() == errc::none, fmt::format("failed: {}", name_of(got->error())));
    return std::move(*got);
  }

  template <class Post>
  void complete(const Post& once) {
    static_cast<void>(test::post(dev(), once));
    static_cast<void>(next(local_));
  }

  void send_message() {
    complete([&] { return dev().post_am(1, {2}, whole(), local_, options<post_am_options>()); });
  }
  void receive_message() {
    const auto got = next(inbox_);
    require(got.bytes() == huge_bytes, fmt::format("{} bytes came", got.bytes()));
    require(got.data().data() == target_.data(), "not where the allocator put them");
  }
  void send() {
    complete([&] { return dev().post_send(1, whole(), local_, options<post_send_options>()); });
  }
  void receive() {
    static_cast<void>(test::post(dev(), [&] { return dev().post_recv(0, target_.span(), local_); }));
    const auto got = next(local_);
    require(got.bytes() == huge_bytes, fmt::format("{} bytes came", got.bytes()));
  }

  void* allocate(std::size_t bytes, std::uint32_t /*source*/, std::uint64_t /*tag*/) noexcept override {
    require(bytes == huge_bytes, fmt::format("memory for {} bytes was wanted", bytes));
    return target_.data();
  }
  void deallocate(void* /*memory*/, std::size_t /*bytes*/) noexcept override {}

  // The value of the other rank, by way of a completion with this id.
  template <class Value>
  [[nodiscard]] static Value exchange(runtime& rt, const Value& mine, std::uint32_t id) {
    completion_queue inbox{rt};
    counter sent{rt};
    const auto registered = rt.register_completion(inbox, {.id = id});
    static_cast<void>(post_until_taken(rt.default_device(), 1 - rt.rank(), {id}, std::span{&mine, 1}, sent));
    std::optional<completion_record> got;
    require(eventually(rt.default_device(), [&] { return (got = inbox.pop()).has_value(); }), "nothing was told");
    Value out;
    std::memcpy(&out, got->data().data(), sizeof out);
    rt.barrier();
    return out;
  }
  // Rank 0's seed, at both ranks.
  [[nodiscard]] static std::uint64_t agree(runtime& rt, std::uint64_t seed) {
    if (const char* set = std::getenv("TEST_SEED")) seed = std::strtoull(set, nullptr, 0);
    const std::uint64_t other = exchange(rt, seed, 1);
    if (rt.rank() == 1) return other;
    std::printf("TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
    return seed;
  }

  runtime& rt_;
  windows windows_;
  huge_memory source_{windows_, huge_memory::use::read};
  huge_memory target_{windows_, huge_memory::use::written};
  completion_queue inbox_{rt_}, local_{rt_};
  std::uint64_t seed_ = 0;
};

inline int run_huge(bool with_active_message) {
  return run_rank([&](runtime& rt) {
    huge_rank{rt}.run(with_active_message);
    rt.barrier();
  });
}

}  // namespace weft::test
