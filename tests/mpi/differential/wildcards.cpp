// SPDX-License-Identifier: BSD-3-Clause
// Receives from any source or with any tag, and cancelled ones. Which message comes first is open, but all come, and
// those of one sender in its order.
#include <algorithm>

#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

struct letter {
  int number;
  int word;
};

// What came of each source, in the order in which it came.
void check_letters(scene& here, std::vector<std::vector<letter>>& came, const std::vector<int>& sent) {
  for (int source = 0; source < here.size; ++source) {
    const std::vector<letter>& all = came[static_cast<std::size_t>(source)];
    bool is_in_order = true;
    for (std::size_t i = 0; i < all.size(); ++i) is_in_order = is_in_order && all[i].number == static_cast<int>(i);
    here.log("source %d: %zu letters, hash %016llx", source, all.size(),
             static_cast<unsigned long long>(hash_of(all.data(), all.size() * sizeof(letter))));
    here.expect(is_in_order, "letters of source %d overtake each other", source);
    here.expect(static_cast<int>(all.size()) == sent[static_cast<std::size_t>(source)],
                "%zu letters of source %d, not %d", all.size(), source, sent[static_cast<std::size_t>(source)]);
  }
}

}  // namespace

// One rank receives from all others, by any source and one tag or any.
void wildcard_messages(scene& here) {
  const int receiver = here.random.between(0, here.size - 1);
  const bool any_tag = here.random.chance(60), posts_first = here.random.chance(40);
  std::vector<int> sent, tags;
  int total = 0;
  for (int source = 0; source < here.size; ++source) {
    sent.push_back(source == receiver && here.size > 1 ? 0 : here.random.between(0, 30));
    tags.push_back(any_tag ? here.random.between(0, 5) : 3);
    total += sent.back();
  }
  std::vector<MPI_Request> requests;
  std::vector<letter> mine;
  for (int i = 0; i < sent[static_cast<std::size_t>(here.rank)]; ++i) mine.push_back({i, here.rank * 1000 + i * i});
  for (const letter& each : mine) {
    requests.push_back(MPI_REQUEST_NULL);
    here.must(
        MPI_Isend(&each, 2, MPI_INT, receiver, tags[static_cast<std::size_t>(here.rank)], here.comm, &requests.back()),
        "MPI_Isend");
  }
  std::vector<std::vector<letter>> came(static_cast<std::size_t>(here.size));
  const int tag = any_tag ? MPI_ANY_TAG : 3;
  const auto note = [&](const MPI_Status& status, const letter& of) {
    const int source = status.MPI_SOURCE;
    if (source < 0 || source >= here.size) return here.expect(false, "a letter of source %d", source);
    here.expect(status.MPI_TAG == tags[static_cast<std::size_t>(source)], "tag %d of source %d", status.MPI_TAG,
                source);
    came[static_cast<std::size_t>(source)].push_back(of);
  };
  if (here.rank == receiver && posts_first) {
    std::vector<letter> into(static_cast<std::size_t>(total));
    std::vector<MPI_Request> receives(into.size());
    for (std::size_t i = 0; i < into.size(); ++i) {
      here.must(MPI_Irecv(&into[i], 2, MPI_INT, MPI_ANY_SOURCE, tag, here.comm, &receives[i]), "MPI_Irecv");
    }
    std::vector<MPI_Status> statuses;
    complete_all(here, receives, statuses);
    for (std::size_t i = 0; i < into.size(); ++i) note(statuses[i], into[i]);
  } else if (here.rank == receiver) {
    for (int i = 0; i < total; ++i) {
      letter into{};
      MPI_Status status = unset_status();
      here.must(MPI_Recv(&into, 2, MPI_INT, MPI_ANY_SOURCE, tag, here.comm, &status), "MPI_Recv");
      note(status, into);
    }
  }
  if (here.rank == receiver) check_letters(here, came, sent);
  std::vector<MPI_Status> statuses;
  complete_all(here, requests, statuses);
  end_of_wildcards(here);
}

// A receive that nothing matches is cancelled; messages with other tags still come.
void cancelled_receives(scene& here) {
  int word = -1, got = -1, mine = here.rank * 7;
  const int next = (here.rank + 1) % here.size, before = (here.rank + here.size - 1) % here.size;
  MPI_Request never = MPI_REQUEST_NULL, sent = MPI_REQUEST_NULL;
  const int source = here.random.chance(50) ? MPI_ANY_SOURCE : before;
  here.must(MPI_Irecv(&word, 1, MPI_INT, source, 9, here.comm, &never), "MPI_Irecv");
  here.must(MPI_Isend(&mine, 1, MPI_INT, next, 8, here.comm, &sent), "MPI_Isend");
  MPI_Status status = unset_status();
  here.must(MPI_Recv(&got, 1, MPI_INT, before, 8, here.comm, &status), "MPI_Recv");
  here.expect(got == before * 7, "the message has %d", got);
  log_status(here, "received", status, MPI_INT);
  here.must(MPI_Cancel(&never), "MPI_Cancel");
  complete(here, never, status);
  int is_cancelled = -1;
  here.must(MPI_Test_cancelled(&status, &is_cancelled), "MPI_Test_cancelled");
  here.log("cancelled %d, the word is %d", is_cancelled, word);
  here.expect(is_cancelled == 1 && word == -1, "the receive is not cancelled");
  complete(here, sent, status);
  end_of_wildcards(here);
}

// MPI_PROC_NULL, null requests and inactive ones, whose statuses are known.
void messages_to_none(scene& here) {
  int word = 5;
  MPI_Status status = unset_status();
  here.must(MPI_Recv(&word, 1, MPI_INT, MPI_PROC_NULL, 3, here.comm, &status), "MPI_Recv");
  const auto show = [&](const char* name, int source) {
    int count = -77;
    here.must(MPI_Get_count(&status, MPI_INT, &count), "MPI_Get_count");
    here.log("%s: %s, %s, count %d", name, status.MPI_SOURCE == source ? "source as is due" : "another source",
             status.MPI_TAG == MPI_ANY_TAG ? "any tag" : "a tag", count);
    here.expect(status.MPI_SOURCE == source && status.MPI_TAG == MPI_ANY_TAG && count == 0 && word == 5, "%s: wrong",
                name);
  };
  show("MPI_Recv", MPI_PROC_NULL);
  here.must(MPI_Send(&word, 1, MPI_INT, MPI_PROC_NULL, 3, here.comm), "MPI_Send");
  MPI_Request request = MPI_REQUEST_NULL;
  here.must(MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, here.comm, &request), "MPI_Irecv");
  status = unset_status();
  here.must(MPI_Wait(&request, &status), "MPI_Wait");
  show("MPI_Irecv", MPI_PROC_NULL);
  here.must(MPI_Wait(&request, &status), "MPI_Wait");
  show("a null request", MPI_ANY_SOURCE);
  int is_done = 0, index = 5;
  here.must(MPI_Test(&request, &is_done, &status), "MPI_Test");
  here.must(MPI_Waitany(1, &request, &index, &status), "MPI_Waitany");
  here.expect(is_done == 1 && index == MPI_UNDEFINED, "null requests are not complete");
  show("MPI_Waitany", MPI_ANY_SOURCE);
  int outcount = 3;
  here.must(MPI_Waitsome(1, &request, &outcount, &index, &status), "MPI_Waitsome");
  here.expect(outcount == MPI_UNDEFINED, "MPI_Waitsome of null requests completes %d", outcount);
}

}  // namespace differential
