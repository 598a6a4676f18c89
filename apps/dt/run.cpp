// SPDX-License-Identifier: BSD-3-Clause
#include "dt/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <stdexcept>
#include <vector>

#include "dt/arrays.hpp"
#include "other_arguments.hpp"

namespace weft_dt {
namespace {

using clock = std::chrono::steady_clock;

// Parts of tags, beside the number of the edge.
enum class tag : std::uint64_t { length, values };

std::uint64_t tag_of(tag part, std::uint32_t number) noexcept {
  return std::uint64_t{number} << 8 | static_cast<std::uint64_t>(part);
}

template <class Message>
weft::const_buffer_ref bytes_of(const Message& message) {
  return {&message, sizeof message};
}
template <class Message>
weft::buffer_ref buffer_of(Message& message) {
  return {&message, sizeof message};
}

// The results of two ranks.
struct together {
  run_result operator()(const run_result& a, const run_result& b) const {
    return {.seconds = std::max(a.seconds, b.seconds), .checksum = a.checksum + b.checksum};
  }
};

// An array's length travels before its values.
using length_message = std::int32_t;

// Lets so many fibers at a time receive an array and use it.
class permits {
 public:
  explicit permits(std::uint32_t count) : left_{count} {}

  class permit {
   public:
    explicit permit(permits& shared) : shared_{shared} {
      std::unique_lock lock{shared_.guard_};
      shared_.changed_.wait(lock, [&] { return shared_.left_ != 0; });
      --shared_.left_;
    }
    permit(const permit&) = delete;
    permit& operator=(const permit&) = delete;
    ~permit() {
      const std::scoped_lock lock{shared_.guard_};
      ++shared_.left_;
      shared_.changed_.notify_one();
    }

   private:
    permits& shared_;
  };

 private:
  weft::fiber_mutex guard_;  // of the members below
  weft::fiber_condition changed_;
  std::uint32_t left_;
};

// The nodes of one rank.
class rank_nodes {
 public:
  rank_nodes(weft::runtime& rt, const run_options& options, const tell_progress& tell)
      : rt_{rt},
        options_{options},
        tell_{tell},
        graph_{options.kind, options.size},
        lengths_{array_lengths(graph_, options.size)},
        store_{options.size},
        io_{rt.default_device()},
        inputs_{arrays_at_a_time()} {
    for (std::uint32_t id = 0; id < graph_.nodes().size(); ++id) {
      if (rank_of(id) == rt.rank()) own_.push_back(id);
    }
    for (std::size_t i = 0; i < own_.size(); ++i) has_ended_.emplace_back();
    if (!options.is_alone) return;
    stand_in_ = store_.get(store_.length_max());
    fill_source(stand_in_.values(), 0);
  }

  run_result run() {
    run_result mine, found;
    mine.seconds = run_fibers();
    mine.checksum = checksum_;
    weft::group all = rt_.world();
    weft::collective::allreduce(std::span<const run_result>{&mine, 1}, std::span{&found, 1}, together{}).run(all);
    if (!options_.is_alone) count_bytes(found);
    return found;
  }

 private:
  double run_fibers() {
    std::array<weft::device*, 1> served{&rt_.default_device()};
    const auto nodes = static_cast<std::uint32_t>(own_.size());
    weft::fiber_scheduler fibers{
        {.workers = options_.workers, .fibers_per_worker = nodes / options_.workers + 1, .devices = served}};
    store_.reserve(arrays_needed());
    std::vector<weft::fiber> all;
    rt_.barrier();
    const auto begin = clock::now();
    for (std::uint32_t i = 0; i < nodes; ++i) {
      all.push_back(fibers.spawn([this, i] { run_node(i); }, {.worker = i % options_.workers}));
    }
    for (weft::fiber& each : all) each.join();
    return std::chrono::duration<double>(clock::now() - begin).count();
  }

  void run_node(std::uint32_t index) {
    end_on_failure([&] {
      const std::uint32_t id = own_[index];
      const node& own = graph_.nodes()[id];
      if (own.outputs.empty()) {
        end_at_sink(id);
      } else {
        if (own.inputs.empty()) wait_for_earlier(index);
        send_to_all(id, own.inputs.empty() ? make_source(id) : combine(id));
      }
      has_ended_[index].set();
      const std::scoped_lock lock{telling_};
      tell_(++done_, static_cast<std::uint32_t>(own_.size()));
    });
  }

  // Sources begin one after the other, so that their arrays are not all there before the first is used. A source's
  // receivers take the arrays of sources with lower numbers first: those never wait for this one.
  void wait_for_earlier(std::uint32_t index) {
    const std::uint32_t together = arrays_at_a_time();
    if (index >= together) has_ended_[index - together].wait();
  }

  feature_array make_source(std::uint32_t id) {
    feature_array made = store_.get(lengths_[id]);
    fill_source(made.values(), id);
    serve_others();
    return made;
  }

  feature_array combine(std::uint32_t id) {
    const std::vector<std::uint32_t>& edges = graph_.nodes()[id].inputs;
    feature_array result;
    for (const std::uint32_t number : edges) {
      with_input(number, [&](std::span<const double> input) {
        if (number == edges.front()) result = empty_result(store_, options_.size);
        filter(store_, result, input, id);
      });
    }
    divide(result.values(), edges.size());
    serve_others();
    return result;
  }

  void end_at_sink(std::uint32_t id) {
    const std::vector<std::uint32_t>& edges = graph_.nodes()[id].inputs;
    std::int64_t sum = 0;
    for (const std::uint32_t number : edges) {
      with_input(number, [&](std::span<const double> input) { sum += add_up(input, id); });
    }
    sum = sink_checksum(sum, edges.size(), id);
    if (options_.is_alone) return;
    const std::scoped_lock lock{telling_};
    checksum_ += sum;
  }

  // Calls `use` with the array that comes along edge `number`; without messages, with another one of its length.
  template <class Use>
  void with_input(std::uint32_t number, Use use) {
    const std::uint32_t from = graph_.edges()[number].from;
    if (options_.is_alone) return use(std::span<const double>{stand_in_.values()}.first(lengths_[from]));
    length_message length = 0;
    static_cast<void>(io_.recv(rank_of(from), buffer_of(length), {.tag = tag_of(tag::length, number)}));
    if (length < 0 || static_cast<std::size_t>(length) != lengths_[from]) {
      throw std::runtime_error{
          fmt::format("edge {}: node {} sends an array of {} values, not of {}", number, from, length, lengths_[from])};
    }
    // The sender sends the values next, whatever other nodes wait for: so this node gives the permit back.
    const permits::permit held{inputs_};
    feature_array input = store_.get(lengths_[from]);
    static_cast<void>(io_.recv(rank_of(from), input.values(), {.tag = tag_of(tag::values, number)}));
    use(std::span<const double>{input.values()});
    serve_others();
  }

  void send_to_all(std::uint32_t id, const feature_array& made) {
    if (options_.is_alone) return;
    const auto length = static_cast<length_message>(made.length());
    for (const std::uint32_t number : graph_.nodes()[id].outputs) {
      const std::uint32_t rank = rank_of(graph_.edges()[number].to);
      io_.send(rank, bytes_of(length), {.tag = tag_of(tag::length, number)});
      io_.send(rank, made.values(), {.tag = tag_of(tag::values, number)});
    }
  }

  // A worker looks for messages when none of its fibers is ready: after milliseconds of arithmetic, others may wait.
  void serve_others() {
    if (!options_.is_alone) io_.device().progress();
  }

  template <class Work>
  static void end_on_failure(Work work) {
    try {
      work();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "weft-dt: %s\n", e.what());
      std::fflush(stderr);
      std::_Exit(1);
    }
  }

  void count_bytes(run_result& to) const {
    for (const edge& each : graph_.edges()) {
      const std::uint64_t bytes = sizeof(length_message) + lengths_[each.from] * sizeof(double);
      to.bytes += bytes;
      if (rank_of(each.from) != rank_of(each.to)) to.bytes_between_ranks += bytes;
    }
  }

  // While a worker uses one, another one may arrive.
  [[nodiscard]] std::uint32_t arrays_at_a_time() const noexcept { return 2 * options_.workers; }

  // About as many as are in use at a time: arrays of sources, inputs, and the longer copies that filters make; and
  // results of comparators, mostly in two layers, as a result stays until nodes of the next layer have it.
  [[nodiscard]] std::size_t arrays_needed() const {
    std::map<std::uint32_t, std::size_t> comparators;  // of this rank, by the first node of their layer
    for (const std::uint32_t id : own_) {
      const node& each = graph_.nodes()[id];
      if (!each.inputs.empty() && !each.outputs.empty()) ++comparators[id - each.position];
    }
    std::size_t most = 0, all = 0;
    for (const auto& [layer, count] : comparators) {
      most = std::max(most, count);
      all += count;
    }
    return std::min(2 * most, all) + 2 * std::size_t{arrays_at_a_time()};
  }

  [[nodiscard]] std::uint32_t rank_of(std::uint32_t id) const noexcept { return graph_.rank_of(id, rt_.size()); }

  weft::runtime& rt_;
  run_options options_;
  const tell_progress& tell_;
  graph graph_;
  std::vector<std::size_t> lengths_;  // of the array that each node sends
  array_store store_;
  weft::blocking_device io_;
  std::vector<std::uint32_t> own_;           // nodes of this rank
  std::deque<weft::fiber_event> has_ended_;  // of each of them
  permits inputs_;
  feature_array stand_in_;  // for each input, if there are no messages

  std::mutex telling_;         // of the members below
  std::int64_t checksum_ = 0;  // of the sinks of this rank
  std::uint32_t done_ = 0;
};

}  // namespace

run_result run_graph(weft::runtime& rt, const run_options& options, const tell_progress& tell) {
  return rank_nodes{rt, options, tell}.run();
}

std::optional<std::uint32_t> find_other_arguments(weft::runtime& rt, const run_options& options, int exit_code) {
  const std::array<std::int64_t, 4> mine{static_cast<std::int64_t>(options.kind),
                                         static_cast<std::int64_t>(options.size), options.is_alone ? 1 : 0, exit_code};
  return weft::find_other_arguments(rt, mine);
}

}  // namespace weft_dt
