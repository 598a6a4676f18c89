// A barrier that blocks no thread, as a graph: in round r a rank sends the ranks that it knows to have entered to the
// rank 2^r further on, and receives as much from the rank 2^r back. It does its work meanwhile.
#include <cstdio>
#include <span>

#include <weft/weft.hpp>

class lazy_barrier {
 public:
  lazy_barrier(weft::runtime& rt, weft::device& dev) : rounds_{dev}, passed_{rt} {
    weft::graph_node before = rounds_.add([this, me = std::uint64_t{1} << rt.rank()] { entered_ = me; });
    for (std::uint32_t distance = 1; distance < rt.size(); distance *= 2) {
      const std::uint32_t to = (rt.rank() + distance) % rt.size();
      const std::uint32_t from = (rt.rank() + rt.size() - distance) % rt.size();
      const std::uint64_t tag = distance;
      const weft::graph_node hear = rounds_.add_post([this, &dev, from, tag](weft::completion& local) {
        return dev.post_recv(from, std::span{&received_, 1}, local, {.tag = tag});
      });
      const weft::graph_node tell = rounds_.add_post([this, &dev, to, tag](weft::completion& local) {
        return dev.post_send(to, std::span{&entered_, 1}, local, {.tag = tag});
      });
      const weft::graph_node join = rounds_.add([this] { entered_ |= received_; });
      for (const weft::graph_node both : {hear, tell}) {
        rounds_.add_edge(before, both);
        rounds_.add_edge(both, join);
      }
      before = join;
    }
  }
  void enter() { rounds_.start(passed_); }
  std::uint64_t times_passed() const { return passed_.value(); }
  std::uint64_t entered() const { return entered_; }

 private:
  weft::graph rounds_;
  weft::counter passed_;
  std::uint64_t received_ = 0, entered_ = 0;  // a bit for each rank
};

int main() {
  weft::runtime rt;
  if (rt.size() > 64) return std::fprintf(stderr, "graph_barrier: at most 64 ranks\n"), 2;
  weft::device& dev = rt.default_device();
  lazy_barrier barrier{rt, dev};
  const std::uint64_t everybody = ~std::uint64_t{0} >> (64 - rt.size());
  std::uint64_t work = 0;
  bool right = true;
  for (std::uint64_t step = 1; step <= 10; ++step) {
    barrier.enter();
    while (barrier.times_passed() < step) {
      ++work;  // something useful
      dev.progress();
    }
    right = right && barrier.entered() == everybody;
  }
  std::printf("rank %u: 10 barriers passed, %s meanwhile\n", rt.rank(), work != 0 ? "some work done" : "no work");
  rt.barrier();
  return right ? 0 : 1;
}
