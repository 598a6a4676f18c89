// A barrier that blocks nobody, as a graph: in round r a rank tells the one 2^r further on and hears from the one 2^r
// back, once it has heard and told in the round before. The rank goes on with its work meanwhile.
#include <cstdio>
#include <span>

#include <weft/weft.hpp>

class lazy_barrier {
 public:
  lazy_barrier(weft::runtime& rt, weft::device& dev) : rounds_{dev}, passed_{rt} {
    weft::graph_node told{}, heard{};
    for (std::uint32_t distance = 1; distance < rt.size(); distance *= 2) {
      const std::uint32_t to = (rt.rank() + distance) % rt.size();
      const std::uint32_t from = (rt.rank() + rt.size() - distance) % rt.size();
      const std::uint64_t tag = distance;
      const weft::graph_node hear = rounds_.add_post([this, &dev, from, tag](weft::completion& local) {
        return dev.post_recv(from, std::span{&in_, 1}, local, {.tag = tag});
      });
      const weft::graph_node tell = rounds_.add_post([this, &dev, to, tag](weft::completion& local) {
        return dev.post_send(to, std::span{&out_, 1}, local, {.tag = tag});
      });
      if (distance > 1) {
        rounds_.add_edge(told, tell);
        rounds_.add_edge(heard, tell);
        rounds_.add_edge(heard, hear);  // `in_` is written by one receive at a time
      }
      told = tell;
      heard = hear;
    }
  }
  void enter() { rounds_.start(passed_); }
  weft::counter& passed() { return passed_; }

 private:
  weft::graph rounds_;
  weft::counter passed_;
  char in_ = 0, out_ = 0;
};

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  lazy_barrier barrier{rt, dev};
  std::uint64_t work = 0;
  for (std::uint64_t step = 1; step <= 10; ++step) {
    barrier.enter();
    while (barrier.passed().value() < step) {
      ++work;  // something useful
      dev.progress();
    }
  }
  std::printf("rank %u: 10 barriers passed, %s meanwhile\n", rt.rank(), work != 0 ? "some work done" : "no work");
  rt.barrier();
}
