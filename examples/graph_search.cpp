// A breadth-first search of a graph whose vertices lie on all ranks. A message visits a vertex with a number of steps.
// If it is smaller than before, the vertex sends messages to its neighbours. A termination finds the end of all visits.
#include <cstdio>
#include <cstring>
#include <vector>

#include <weft/weft.hpp>

struct visit {
  std::uint32_t vertex, steps;
};
constexpr std::uint32_t vertex_count = 5000, unreached = ~0U, visits_id = 1;
constexpr std::uint32_t neighbour_of(std::uint32_t vertex, std::uint32_t which) {
  return (which == 0 ? vertex + 1 : 2 * vertex * which + which) % vertex_count;
}

int main() {
  weft::runtime rt;
  weft::device& dev = rt.default_device();
  weft::group all = rt.world();
  weft::termination work{all};
  weft::counter local{rt};
  weft::completion_queue visits{rt, {.unbounded = true}};
  const auto to_visits = rt.register_completion(visits, {.id = visits_id});
  const auto send = [&](const visit& next) {
    work.sent();  // a post comes after its count
    const std::uint32_t owner = next.vertex % rt.size();
    dev.until_accepted([&] { return dev.post_am(owner, {visits_id}, std::span{&next, 1}, local); });
  };
  std::vector<std::uint32_t> steps(vertex_count, unreached);  // only this rank's vertices count
  if (rt.rank() == 0) send({0, 0});
  while (!work.test()) {  // asked only when there is nothing to do
    while (const auto message = visits.pop()) {
      visit found{};
      std::memcpy(&found, message->data().data(), sizeof found);
      if (found.steps < steps[found.vertex]) {
        steps[found.vertex] = found.steps;
        for (std::uint32_t which = 0; which < 3; ++which) send({neighbour_of(found.vertex, which), found.steps + 1});
      }
      work.handled();  // its neighbours were counted before
    }
  }
  dev.wait_all(local);
  std::vector<std::uint32_t> right(vertex_count, unreached), reached{0};  // a search in this rank alone
  right[0] = 0;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (std::uint32_t which = 0; which < 3; ++which) {
      const std::uint32_t next = neighbour_of(reached[i], which);
      if (right[next] == unreached) right[next] = right[reached[i]] + 1, reached.push_back(next);
    }
  }
  std::uint32_t wrong = 0, mine = 0;
  for (std::uint32_t vertex = rt.rank(); vertex < vertex_count; vertex += rt.size(), ++mine)
    wrong += steps[vertex] != right[vertex];
  std::printf("rank %u: %u vertices reached, %u of them wrong\n", rt.rank(), mine, wrong);
  rt.barrier();
  return wrong == 0 ? 0 : 1;
}
