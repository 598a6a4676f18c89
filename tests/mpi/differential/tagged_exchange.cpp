// SPDX-License-Identifier: BSD-3-Clause
#include "tagged_exchange.hpp"

#include <utility>
#include <vector>

#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

constexpr int tags = exchange_tags;
constexpr int no_message = -1;
constexpr int words_max = 40'000;

std::vector<int> words_of(int source, int tag, int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(source * 1'000'003 + tag * 10'007 + i * 3);
  return out;
}

class exchange {
 public:
  exchange(scene& here, MPI_Comm comm, const hints& given, int first_tag)
      : here_{here}, comm_{comm}, given_{given}, first_tag_{first_tag} {
    static const std::vector<int> counts{0, 1, 2, 10, 300, 2000, words_max};
    for (int i = here.size * here.size * tags; i > 0; --i)
      counts_.push_back(here.random.chance(60) ? here.random.pick(counts) : no_message);
  }

  void run() {
    const bool posts_first = here_.random.chance(50);
    const std::vector<receive> all = draw_receives();
    if (posts_first) post(all);
    send_all();
    if (!posts_first) {
      for (const receive& each : all) receive_one(each);
    }
    std::vector<MPI_Status> statuses;
    complete_all(here_, requests_, statuses);
    for (std::size_t i = 0; i < statuses.size(); ++i) note(statuses[i], all[i].tag, buffers_[i]);
    complete_all(here_, sends_, statuses);
    for (int source = 0; source < here_.size; ++source) {
      for (int tag = 0; tag < tags; ++tag)
        here_.expect(expected(source, here_.rank, tag) == no_message, "the message of source %d with tag %d is missing",
                     source, tag);
    }
  }

 private:
  struct receive {
    int source;  // or MPI_ANY_SOURCE
    int tag;
    int room;  // words
  };

  int& expected(int source, int target, int tag) {
    return counts_[static_cast<std::size_t>((source * here_.size + target) * tags + tag)];
  }

  // All receives of a tag name their sources, or none of them: else one of any source would take a named one's message.
  std::vector<receive> draw_receives() {
    std::vector<receive> out;
    for (int tag = 0; tag < tags; ++tag) {
      const bool must_name = given_.no_any_source || given_.exact_length;
      const bool has_names = must_name || (!given_.any_source_by_tag && here_.own.chance(50));
      int count = 0;
      for (int source = 0; source < here_.size; ++source) {
        const int words = expected(source, here_.rank, tag);
        if (words == no_message) continue;
        ++count;
        out.push_back({has_names ? source : MPI_ANY_SOURCE, tag, given_.exact_length ? words : words_max});
      }
      here_.log("%d messages with tag %d", count, first_tag_ + tag);
    }
    here_.own.shuffle(out);
    return out;
  }

  void post(const std::vector<receive>& all) {
    requests_.resize(all.size(), MPI_REQUEST_NULL);
    for (const receive& each : all) buffers_.emplace_back(static_cast<std::size_t>(each.room), -1);
    for (std::size_t i = 0; i < all.size(); ++i) {
      here_.must(MPI_Irecv(buffers_[i].data(), all[i].room, MPI_INT, all[i].source, first_tag_ + all[i].tag, comm_,
                           &requests_[i]),
                 "MPI_Irecv");
    }
  }

  void send_all() {
    std::vector<int> order;
    for (int i = 0; i < here_.size * tags; ++i) order.push_back(i);
    here_.own.shuffle(order);
    for (const int each : order) {
      const int target = each / tags, tag = each % tags, count = expected(here_.rank, target, tag);
      if (count == no_message) continue;
      sent_.push_back(words_of(here_.rank, tag, count));
      sends_.push_back(MPI_REQUEST_NULL);
      here_.must(MPI_Isend(sent_.back().data(), count, MPI_INT, target, first_tag_ + tag, comm_, &sends_.back()),
                 "MPI_Isend");
    }
  }

  void receive_one(const receive& wanted) {
    std::vector<int> into(static_cast<std::size_t>(wanted.room), -1);
    const int tag = first_tag_ + wanted.tag;
    MPI_Status status = unset_status();
    if (here_.own.chance(30)) {
      MPI_Message found = MPI_MESSAGE_NULL;
      here_.must(MPI_Mprobe(wanted.source, tag, comm_, &found, &status), "MPI_Mprobe");
      here_.must(MPI_Mrecv(into.data(), wanted.room, MPI_INT, &found, &status), "MPI_Mrecv");
    } else {
      if (here_.own.chance(30)) here_.must(MPI_Probe(wanted.source, tag, comm_, &status), "MPI_Probe");
      here_.must(MPI_Recv(into.data(), wanted.room, MPI_INT, wanted.source, tag, comm_, &status), "MPI_Recv");
    }
    note(status, wanted.tag, into);
  }

  // Compares a message with the one that is due, which is due no more.
  void note(const MPI_Status& status, int tag, std::vector<int> words) {
    const int source = status.MPI_SOURCE;
    if (source < 0 || source >= here_.size) return here_.expect(false, "a message of source %d", source);
    const int due = std::exchange(expected(source, here_.rank, tag), no_message);
    int count = -1;
    here_.must(MPI_Get_count(&status, MPI_INT, &count), "MPI_Get_count");
    here_.expect(status.MPI_TAG == first_tag_ + tag, "tag %d, not %d", status.MPI_TAG, first_tag_ + tag);
    here_.expect(count == due, "%d words of source %d with tag %d, not %d", count, source, tag, due);
    words.resize(due > 0 ? static_cast<std::size_t>(due) : 0);
    here_.expect(words == words_of(source, tag, due), "other words of source %d with tag %d", source, tag);
  }

  scene& here_;
  MPI_Comm comm_;
  const hints& given_;
  int first_tag_;
  std::vector<int> counts_;  // of sources, then targets, then tags
  std::vector<std::vector<int>> sent_, buffers_;
  std::vector<MPI_Request> sends_, requests_;
};

}  // namespace

hints random_hints(random_source& random, bool by_tag) {
  hints out;
  out.allow_overtaking = by_tag || random.chance(50);
  out.no_any_source = !by_tag && random.chance(50);
  out.no_any_tag = random.chance(50);
  out.exact_length = !by_tag && random.chance(30);
  out.any_source_by_tag = by_tag;
  if (random.chance(60)) out.vci = random.between(0, 5);
  return out;
}

MPI_Comm duplicate_with(scene& here, const hints& wanted) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm out = MPI_COMM_NULL;
  here.must(MPI_Info_create(&info), "MPI_Info_create");
  const auto set = [&](bool is_set, const char* key, const char* value) {
    if (is_set) here.must(MPI_Info_set(info, key, value), "MPI_Info_set");
  };
  set(wanted.allow_overtaking, "mpi_assert_allow_overtaking", "true");
  set(wanted.no_any_source, "mpi_assert_no_any_source", "true");
  set(wanted.no_any_tag, "mpi_assert_no_any_tag", "true");
  set(wanted.exact_length, "mpi_assert_exact_length", "true");
  set(wanted.any_source_by_tag, "weft_assert_any_source_by_tag", "true");
  if (wanted.vci) set(true, "weft_vci", std::to_string(*wanted.vci).c_str());
  here.must(MPI_Comm_dup_with_info(here.comm, info, &out), "MPI_Comm_dup_with_info");
  here.must(MPI_Comm_set_errhandler(out, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  here.must(MPI_Info_free(&info), "MPI_Info_free");
  return out;
}

void exchange_by_tag(scene& here, MPI_Comm comm, const hints& given, int first_tag) {
  exchange{here, comm, given, first_tag}.run();
}

}  // namespace differential
