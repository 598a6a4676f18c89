// SPDX-License-Identifier: BSD-3-Clause
// Several threads at a time, each with a case of its own on a communicator of its own.
#include <list>
#include <thread>
#include <vector>

#include "cases.hpp"

namespace differential {

void several_threads(scene& here) {
  // Cases that attach no buffer, as a process has one.
  static const std::vector<named_case> choices{{"blocking_messages", blocking_messages},
                                               {"nonblocking_messages", nonblocking_messages},
                                               {"send_and_receive", send_and_receive},
                                               {"wildcard_messages", wildcard_messages},
                                               {"messages_by_tag", messages_by_tag},
                                               {"cancelled_receives", cancelled_receives},
                                               {"probed_messages", probed_messages},
                                               {"broadcasts", broadcasts},
                                               {"gathers", gathers},
                                               {"alltoalls", alltoalls},
                                               {"reductions", reductions},
                                               {"ordered_reductions", ordered_reductions},
                                               {"packed_data", packed_data}};
  std::vector<const named_case*> chosen;
  std::vector<MPI_Comm> comms;
  std::list<scene> scenes;
  for (int left = here.random.between(2, 4); left > 0; --left) {
    chosen.push_back(&here.random.pick(choices));
    comms.push_back(MPI_COMM_NULL);
    here.must(MPI_Comm_dup(here.comm, &comms.back()), "MPI_Comm_dup");
    here.must(MPI_Comm_set_errhandler(comms.back(), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    scenes.emplace_back(here.random.next(), comms.back(), here.to);
  }
  std::vector<std::thread> threads;
  std::size_t number = 0;
  for (scene& each : scenes) {
    threads.emplace_back([&each, run = chosen[number++]->run] {
      for (int round = 0; round < 3; ++round) run(each);
    });
  }
  for (std::thread& each : threads) each.join();
  number = 0;
  for (const scene& each : scenes) {
    here.log("thread %zu: %s", number, chosen[number]->name);
    here.text += each.text;
    here.wrongs += each.wrongs;
    here.must(MPI_Comm_free(&comms[number++]), "MPI_Comm_free");
  }
}

}  // namespace differential
