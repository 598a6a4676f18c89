// SPDX-License-Identifier: BSD-3-Clause
// Several threads at a time, each with a case of its own on a communicator of its own, or all in one communicator, with
// tags of their own. The communicators have hints, and lie on several VCIs.
#include <functional>
#include <list>
#include <thread>
#include <vector>

#include "cases.hpp"
#include "tagged_exchange.hpp"

namespace differential {
namespace {

constexpr int rounds = 3;

struct thread_case {
  named_case of;
  bool has_wildcards = false;
};

// Runs `run` for each scene in a thread, and joins what they log.
void run_threads(scene& here, std::list<scene>& scenes, const std::function<void(scene&, int)>& run) {
  std::vector<std::thread> threads;
  for (scene& each : scenes)
    threads.emplace_back([&run, &each, number = static_cast<int>(threads.size())] { run(each, number); });
  for (std::thread& each : threads) each.join();
  for (const scene& each : scenes) {
    here.text += each.text;
    here.wrongs += each.wrongs;
  }
}

}  // namespace

void several_threads(scene& here) {
  // Cases that attach no buffer, as a process has one.
  static const std::vector<thread_case> choices{{{"blocking_messages", blocking_messages}},
                                                {{"nonblocking_messages", nonblocking_messages}},
                                                {{"send_and_receive", send_and_receive}},
                                                {{"wildcard_messages", wildcard_messages}, true},
                                                {{"messages_by_tag", messages_by_tag}},
                                                {{"messages_with_hints", messages_with_hints}},
                                                {{"cancelled_receives", cancelled_receives}, true},
                                                {{"probed_messages", probed_messages}, true},
                                                {{"broadcasts", broadcasts}},
                                                {{"gathers", gathers}},
                                                {{"alltoalls", alltoalls}},
                                                {{"reductions", reductions}},
                                                {{"ordered_reductions", ordered_reductions}},
                                                {{"packed_data", packed_data}}};
  std::vector<const thread_case*> chosen;
  std::vector<MPI_Comm> comms;
  std::list<scene> scenes;
  for (int left = here.random.between(2, 8); left > 0; --left) {
    chosen.push_back(&here.random.pick(choices));
    hints wanted = random_hints(here.random, false);
    wanted.allow_overtaking = wanted.exact_length = false;
    if (chosen.back()->has_wildcards) wanted.no_any_source = wanted.no_any_tag = false;
    comms.push_back(duplicate_with(here, wanted));
    scenes.emplace_back(here.random.next(), comms.back(), here.to);
    here.log("thread %zu: %s", chosen.size() - 1, chosen.back()->of.name);
  }
  run_threads(here, scenes, [&](scene& each, int number) {
    for (int round = 0; round < rounds; ++round) chosen[static_cast<std::size_t>(number)]->of.run(each);
  });
  for (MPI_Comm& each : comms) here.must(MPI_Comm_free(&each), "MPI_Comm_free");
}

void threads_of_one_communicator(scene& here) {
  const hints wanted = random_hints(here.random, here.random.chance(30));
  MPI_Comm comm = duplicate_with(here, wanted);
  std::list<scene> scenes;
  for (int left = here.random.between(2, 8); left > 0; --left) scenes.emplace_back(here.random.next(), comm, here.to);
  run_threads(here, scenes, [&](scene& each, int number) {
    for (int round = 0; round < rounds; ++round)
      exchange_by_tag(each, comm, wanted, (number * rounds + round) * exchange_tags);
  });
  here.must(MPI_Comm_free(&comm), "MPI_Comm_free");
}

}  // namespace differential
