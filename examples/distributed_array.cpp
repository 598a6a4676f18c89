// An array that is spread over all ranks in blocks: any rank reads and writes any element, and its owner does nothing.
#include <cstdio>
#include <vector>

#include <weft/weft.hpp>

template <class Element>
class distributed_array {
 public:
  // Collective: every rank tells every other one where its block is. A handle is plain bytes.
  distributed_array(weft::runtime& rt, std::uint64_t size)
      : rt_{rt}, block_{(size + rt.size() - 1) / rt.size()}, mine_{rt, block_ * sizeof(Element)}, blocks_(rt.size()) {
    weft::counter told{rt};
    for (std::uint32_t rank = 0; rank < rt.size(); ++rank) {
      dev_.until_accepted([&] { return dev_.post_recv(rank, std::span{&blocks_[rank], 1}, done_); });
      dev_.until_accepted([&] { return dev_.post_send(rank, std::span{&mine_.handle(), 1}, told); });
    }
    dev_.wait_all({&done_, &told});
  }
  ~distributed_array() { rt_.barrier(); }  // no block is destroyed while another rank still reads it
  void write(std::uint64_t index, const Element& value) {
    dev_.until_accepted([&] { return dev_.post_put(owner(index), std::span{&value, 1}, address(index), done_); });
    dev_.flush(owner(index));
  }
  Element read(std::uint64_t index) {
    Element out{};
    dev_.until_accepted([&] { return dev_.post_get(owner(index), std::span{&out, 1}, address(index), done_); });
    dev_.wait_all(done_);
    return out;
  }

 private:
  std::uint32_t owner(std::uint64_t i) const { return static_cast<std::uint32_t>(i / block_); }
  weft::remote_buffer address(std::uint64_t i) const { return {blocks_[owner(i)], i % block_ * sizeof(Element)}; }

  weft::runtime& rt_;
  weft::device& dev_ = rt_.default_device();
  std::uint64_t block_;
  weft::memory_region mine_;
  std::vector<weft::remote_region> blocks_;
  weft::counter done_{rt_};
};

int main() {
  weft::runtime rt;
  distributed_array<std::uint64_t> squares{rt, 1000};
  for (std::uint64_t i = rt.rank(); i < 1000; i += rt.size()) squares.write(i, i * i);
  rt.barrier();
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) wrong += squares.read(i) != i * i;
  std::printf("rank %u: read 1000 squares, %llu of them wrong\n", rt.rank(), static_cast<unsigned long long>(wrong));
  return wrong == 0 ? 0 : 1;
}
