// A library inside a program has a runtime of its own: its ids, messages and progress never mix with the program's, and
// neither has to know of the other. All ranks make their runtimes in the same order.
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <weft/weft.hpp>

// A library by another author: adds up the values of all ranks. Its completion has id 1, as the program's has.
class adder {
 public:
  explicit adder(std::uint64_t mine) {
    for (std::uint32_t rank = 0; rank < rt_.size(); ++rank) {
      weft::device& dev = rt_.default_device();
      dev.until_accepted([&] { return dev.post_am(rank, {.id = 1}, std::span{&mine, 1}, sent_); });
    }
  }
  bool is_ready() {
    rt_.default_device().progress();
    while (const auto record = numbers_.pop()) {
      std::uint64_t number = 0;
      std::memcpy(&number, record->data().data(), sizeof number);
      sum_ += number;
      ++heard_;
    }
    return heard_ == rt_.size();
  }
  std::uint64_t sum() const { return sum_; }

 private:
  weft::runtime rt_;
  weft::completion_queue numbers_{rt_};
  weft::registration arrivals_ = rt_.register_completion(numbers_, {.id = 1});
  weft::counter sent_{rt_};
  std::uint64_t sum_ = 0;
  std::uint32_t heard_ = 0;
};

int main() {
  weft::runtime rt;
  weft::completion_queue mail{rt};
  weft::counter sent{rt};
  const weft::registration box = rt.register_completion(mail, {.id = 1});
  weft::device& dev = rt.default_device();
  const std::uint32_t next = (rt.rank() + 1) % rt.size();
  dev.until_accepted([&] { return dev.post_am(next, {.id = 1}, std::string_view{"hello"}, sent); });

  adder library{rt.rank() + 1};
  const auto greeting = dev.wait(mail);
  while (!library.is_ready()) {
  }
  const std::string text(reinterpret_cast<const char*>(greeting->data().data()), greeting->bytes());
  std::printf("rank %u: %s from rank %u; the ranks add up to %llu\n", rt.rank(), text.c_str(), greeting->source(),
              static_cast<unsigned long long>(library.sum()));
  rt.barrier();
  return text == "hello" && library.sum() == rt.size() * (rt.size() + 1) / 2 ? 0 : 1;
}
