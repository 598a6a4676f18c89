// Every second column of a matrix goes by a layout, straight out of this matrix and into that of the next rank.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/weft.hpp>

constexpr std::size_t rows = 1000, columns = 64, sent_columns = columns / 2;
constexpr std::size_t bytes_sent = rows * sent_columns * sizeof(double);

// The columns 0, 2, 4, ... of a matrix whose rows lie one behind the other. The library asks for any part of the
// message: a part may begin and end inside a number.
struct every_second_column {
  std::size_t pack(const void* matrix, std::uint64_t offset, std::byte* to, std::size_t bytes) const {
    return each(offset, bytes, [&](std::size_t position, std::size_t done, std::size_t count) {
      std::memcpy(to + done, static_cast<const std::byte*>(matrix) + position, count);
    });
  }
  std::size_t unpack(void* matrix, std::uint64_t offset, const std::byte* from, std::size_t bytes) const {
    return each(offset, bytes, [&](std::size_t position, std::size_t done, std::size_t count) {
      std::memcpy(static_cast<std::byte*>(matrix) + position, from + done, count);
    });
  }

 private:
  template <class Copy>
  static std::size_t each(std::uint64_t offset, std::size_t bytes, const Copy& copy) {
    for (std::size_t done = 0, count = 0; done < bytes; done += count) {
      const std::size_t number = (offset + done) / sizeof(double), in_number = (offset + done) % sizeof(double);
      const std::size_t row = number / sent_columns, column = number % sent_columns * 2;
      count = std::min(sizeof(double) - in_number, bytes - done);
      copy((row * columns + column) * sizeof(double) + in_number, done, count);
    }
    return bytes;
  }
};

int main() {
  const every_second_column shape;
  const weft::layout columns_of{shape};  // both outlive all operations: they are made before the runtime
  std::vector<double> mine(rows * columns), theirs(rows * columns, -1);
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::counter done{rt};
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<double>(rt.rank() * mine.size() + i);

  const std::uint32_t next = (rt.rank() + 1) % rt.size(), previous = (rt.rank() + rt.size() - 1) % rt.size();
  dev.until_accepted([&] { return dev.post_recv(previous, {theirs.data(), bytes_sent, columns_of}, done); });
  dev.until_accepted([&] { return dev.post_send(next, {mine.data(), bytes_sent, columns_of}, done); });
  dev.wait_all(done);

  std::size_t wrong = 0;
  for (std::size_t i = 0; i < theirs.size(); ++i)
    wrong += theirs[i] != (i % 2 == 0 ? static_cast<double>(previous * theirs.size() + i) : -1);
  std::printf("rank %u: %zu columns came from rank %u, %zu numbers wrong\n", rt.rank(), sent_columns, previous, wrong);
  rt.barrier();
  return wrong == 0 ? 0 : 1;
}
