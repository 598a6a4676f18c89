// SPDX-License-Identifier: BSD-3-Clause
#include "run.hpp"

#include <cstdio>
#include <list>
#include <span>
#include <vector>

#include "dt/arrays.hpp"

namespace mpi_dt {
namespace {

using weft_dt::feature_array;

// Parts of an edge's tag.
enum class part : int { length, values };

int tag_of(part kind, std::uint32_t edge) { return static_cast<int>(edge) * 2 + static_cast<int>(kind); }

// The nodes of one rank.
class rank_nodes {
 public:
  rank_nodes(MPI_Comm comm, weft_dt::graph_kind kind, weft_dt::graph_class size)
      : comm_{comm}, class_{size}, graph_{kind, size}, lengths_{array_lengths(graph_, size)}, store_{size} {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
  }

  run_result run() {
    MPI_Barrier(comm_);
    const double begin = MPI_Wtime();
    for (std::uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      if (rank_of(id) == rank_) run_node(id);
    }
    for (sent_array& each : sent_)
      MPI_Waitall(static_cast<int>(each.requests.size()), each.requests.data(), MPI_STATUSES_IGNORE);
    const double seconds = MPI_Wtime() - begin;
    run_result out;
    MPI_Allreduce(&seconds, &out.seconds, 1, MPI_DOUBLE, MPI_MAX, comm_);
    MPI_Allreduce(&checksum_, &out.checksum, 1, MPI_INT64_T, MPI_SUM, comm_);
    for (const weft_dt::edge& each : graph_.edges()) out.bytes += sizeof(int) + lengths_[each.from] * sizeof(double);
    return out;
  }

 private:
  // An array that other nodes receive, and the sends of it.
  struct sent_array {
    feature_array values;
    int length = 0;
    std::vector<MPI_Request> requests;
  };

  [[nodiscard]] int rank_of(std::uint32_t id) const {
    return static_cast<int>(graph_.rank_of(id, static_cast<std::uint32_t>(ranks_)));
  }

  void run_node(std::uint32_t id) {
    const weft_dt::node& node = graph_.nodes()[id];
    if (node.inputs.empty()) {
      feature_array made = store_.get(lengths_[id]);
      weft_dt::fill_source(made.values(), id);
      send(id, std::move(made));
    } else if (node.outputs.empty()) {
      std::int64_t sum = 0;
      for (const std::uint32_t edge : node.inputs) sum += weft_dt::add_up(receive(edge).values(), id);
      checksum_ += weft_dt::sink_checksum(sum, node.inputs.size(), id);
    } else {
      feature_array result = weft_dt::empty_result(store_, class_);
      for (const std::uint32_t edge : node.inputs) weft_dt::filter(store_, result, receive(edge).values(), id);
      weft_dt::divide(result.values(), node.inputs.size());
      send(id, std::move(result));
    }
    forget_sent();
  }

  feature_array receive(std::uint32_t edge) {
    const std::uint32_t from = graph_.edges()[edge].from;
    int length = 0;
    MPI_Recv(&length, 1, MPI_INT, rank_of(from), tag_of(part::length, edge), comm_, MPI_STATUS_IGNORE);
    if (static_cast<std::size_t>(length) != lengths_[from]) {
      std::fprintf(stderr, "mpi-dt: node %u sends an array of %d values, not of %zu\n", from, length, lengths_[from]);
      MPI_Abort(comm_, 1);
    }
    feature_array out = store_.get(lengths_[from]);
    MPI_Recv(out.values().data(), length, MPI_DOUBLE, rank_of(from), tag_of(part::values, edge), comm_,
             MPI_STATUS_IGNORE);
    return out;
  }

  // Does not wait: a receiver of this rank runs later.
  void send(std::uint32_t id, feature_array made) {
    sent_.push_back({std::move(made), 0, {}});
    sent_array& sent = sent_.back();
    sent.length = static_cast<int>(sent.values.length());
    for (const std::uint32_t edge : graph_.nodes()[id].outputs) {
      const int to = rank_of(graph_.edges()[edge].to);
      MPI_Request length = MPI_REQUEST_NULL, values = MPI_REQUEST_NULL;
      MPI_Isend(&sent.length, 1, MPI_INT, to, tag_of(part::length, edge), comm_, &length);
      MPI_Isend(sent.values.values().data(), sent.length, MPI_DOUBLE, to, tag_of(part::values, edge), comm_, &values);
      sent.requests.insert(sent.requests.end(), {length, values});
    }
  }

  // So that the memory of arrays is used again.
  void forget_sent() {
    sent_.remove_if([](sent_array& each) {
      int is_done = 0;
      MPI_Testall(static_cast<int>(each.requests.size()), each.requests.data(), &is_done, MPI_STATUSES_IGNORE);
      return is_done != 0;
    });
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int ranks_ = 0;
  weft_dt::graph_class class_;
  weft_dt::graph graph_;
  std::vector<std::size_t> lengths_;  // of the array that each node sends
  weft_dt::array_store store_;
  std::list<sent_array> sent_;
  std::int64_t checksum_ = 0;  // of the sinks of this rank
};

}  // namespace

run_result run_graph(MPI_Comm comm, weft_dt::graph_kind kind, weft_dt::graph_class size) {
  return rank_nodes{comm, kind, size}.run();
}

}  // namespace mpi_dt
