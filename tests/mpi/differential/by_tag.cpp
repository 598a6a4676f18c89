// SPDX-License-Identifier: BSD-3-Clause
// Receives from any source that name the tag, in a communicator that says so (weft_assert_any_source_by_tag, which
// other libraries ignore). Messages have no order, so each rank sends at most one of a tag to each other.
#include <utility>

#include "cases.hpp"
#include "completion.hpp"
#include "transfers.hpp"

namespace differential {
namespace {

constexpr int tags = 4;
constexpr int no_message = -1;

MPI_Comm made_by_tag(scene& here) {
  MPI_Info hints = MPI_INFO_NULL;
  MPI_Comm out = MPI_COMM_NULL;
  here.must(MPI_Info_create(&hints), "MPI_Info_create");
  for (const char* key : {"mpi_assert_allow_overtaking", "weft_assert_any_source_by_tag"})
    here.must(MPI_Info_set(hints, key, "true"), "MPI_Info_set");
  here.must(MPI_Comm_dup_with_info(here.comm, hints, &out), "MPI_Comm_dup_with_info");
  here.must(MPI_Comm_set_errhandler(out, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  here.must(MPI_Info_free(&hints), "MPI_Info_free");
  return out;
}

std::vector<int> words_of(int source, int tag, int count) {
  std::vector<int> out;
  for (int i = 0; i < count; ++i) out.push_back(source * 1'000'003 + tag * 10'007 + i * 3);
  return out;
}

class exchange {
 public:
  explicit exchange(scene& here) : here_{here}, comm_{made_by_tag(here)} {
    static const std::vector<int> counts{0, 1, 2, 10, 300, 2000, 40'000};
    for (int i = here.size * here.size * tags; i > 0; --i)
      counts_.push_back(here.random.chance(60) ? here.random.pick(counts) : no_message);
  }

  void run() {
    const bool posts_first = here_.random.chance(50);
    for (int tag = 0; tag < tags; ++tag) here_.log("%d messages with tag %d", messages_with(tag), tag);
    if (posts_first) post_receives();
    send_all();
    if (!posts_first) receive_all();
    std::vector<MPI_Status> statuses;
    complete_all(here_, receives_, statuses);
    for (std::size_t i = 0; i < statuses.size(); ++i) note(statuses[i], receive_tags_[i], buffers_[i]);
    complete_all(here_, sends_, statuses);
    for (std::size_t source = 0; source < static_cast<std::size_t>(here_.size); ++source) {
      for (int tag = 0; tag < tags; ++tag) {
        if (expected(static_cast<int>(source), here_.rank, tag) != no_message)
          here_.expect(false, "the message of source %zu with tag %d is missing", source, tag);
      }
    }
    here_.must(MPI_Comm_free(&comm_), "MPI_Comm_free");
  }

 private:
  int& expected(int source, int target, int tag) {
    return counts_[static_cast<std::size_t>((source * here_.size + target) * tags + tag)];
  }
  [[nodiscard]] int messages_with(int tag) {
    int out = 0;
    for (int source = 0; source < here_.size; ++source) out += expected(source, here_.rank, tag) != no_message ? 1 : 0;
    return out;
  }
  std::vector<int> shuffled(int count) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i) out.push_back(i);
    here_.own.shuffle(out);
    return out;
  }
  static std::vector<int> room() { return std::vector<int>(40'000, -1); }

  void post_receives() {
    for (const int tag : shuffled(tags)) {
      for (int left = messages_with(tag); left > 0; --left) {
        buffers_.push_back(room());
        receive_tags_.push_back(tag);
      }
    }
    receives_.resize(buffers_.size(), MPI_REQUEST_NULL);
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      here_.must(MPI_Irecv(buffers_[i].data(), static_cast<int>(buffers_[i].size()), MPI_INT, MPI_ANY_SOURCE,
                           receive_tags_[i], comm_, &receives_[i]),
                 "MPI_Irecv");
    }
  }

  void send_all() {
    for (const int each : shuffled(here_.size * tags)) {
      const int target = each / tags, tag = each % tags, count = expected(here_.rank, target, tag);
      if (count == no_message) continue;
      sent_.push_back(words_of(here_.rank, tag, count));
      sends_.push_back(MPI_REQUEST_NULL);
      here_.must(MPI_Isend(sent_.back().data(), count, MPI_INT, target, tag, comm_, &sends_.back()), "MPI_Isend");
    }
  }

  void receive_all() {
    for (const int tag : shuffled(tags)) {
      for (int left = messages_with(tag); left > 0; --left) receive_one(tag);
    }
  }

  void receive_one(int tag) {
    std::vector<int> into = room();
    const int count = static_cast<int>(into.size());
    MPI_Status status = unset_status();
    if (here_.own.chance(30)) {
      MPI_Message found = MPI_MESSAGE_NULL;
      here_.must(MPI_Mprobe(MPI_ANY_SOURCE, tag, comm_, &found, &status), "MPI_Mprobe");
      here_.must(MPI_Mrecv(into.data(), count, MPI_INT, &found, &status), "MPI_Mrecv");
    } else {
      if (here_.own.chance(30)) here_.must(MPI_Probe(MPI_ANY_SOURCE, tag, comm_, &status), "MPI_Probe");
      here_.must(MPI_Recv(into.data(), count, MPI_INT, MPI_ANY_SOURCE, tag, comm_, &status), "MPI_Recv");
    }
    note(status, tag, into);
  }

  // Compares a message with the one that is due, which is due no more.
  void note(const MPI_Status& status, int tag, std::vector<int> words) {
    const int source = status.MPI_SOURCE;
    if (source < 0 || source >= here_.size) return here_.expect(false, "a message of source %d", source);
    const int due = std::exchange(expected(source, here_.rank, tag), no_message);
    int count = -1;
    here_.must(MPI_Get_count(&status, MPI_INT, &count), "MPI_Get_count");
    here_.expect(status.MPI_TAG == tag, "tag %d, not %d", status.MPI_TAG, tag);
    here_.expect(count == due, "%d words of source %d with tag %d, not %d", count, source, tag, due);
    words.resize(due > 0 ? static_cast<std::size_t>(due) : 0);
    here_.expect(words == words_of(source, tag, due), "other words of source %d with tag %d", source, tag);
  }

  scene& here_;
  MPI_Comm comm_;
  std::vector<int> counts_;  // of sources, then targets, then tags
  std::vector<std::vector<int>> sent_, buffers_;
  std::vector<int> receive_tags_;
  std::vector<MPI_Request> sends_, receives_;
};

}  // namespace

void messages_by_tag(scene& here) { exchange{here}.run(); }

}  // namespace differential
