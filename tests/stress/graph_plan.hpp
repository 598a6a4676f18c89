// SPDX-License-Identifier: BSD-3-Clause
// The random graphs of the stress test, which every rank makes from one seed.
//
// No nodes wait in a circle: a send and its receive are neighbours in one graph, both behind one set of nodes and
// neither behind the other, and edges lead to later nodes; so the earliest node that has not run can run. Graphs that
// are shared, which each rank runs in an order of its own, receive from their own rank alone; puts, gets and active
// messages need no more than a peer's progress.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

namespace weft::test::random_graphs {

struct shape {
  std::uint32_t ranks;
  std::uint32_t on_default, on_own;  // threads
  std::uint32_t graphs;
  std::uint32_t nodes_max;  // of one graph, without those of graphs inside
  std::uint32_t runs;

  [[nodiscard]] std::uint32_t threads() const { return on_default + on_own; }
};

inline std::ostream& operator<<(std::ostream& out, const shape& of) {
  return out << of.ranks << "_ranks_with_" << of.on_default << "_on_the_default_" << of.on_own << "_on_own_devices_"
             << of.graphs << "_graphs_of_" << of.nodes_max << "_nodes_" << of.runs << "_runs";
}

enum class action : std::uint8_t { call, by_thread, message, send, receive, put, get, inner };
inline constexpr std::size_t words_max = 4000;  // beyond a packet

struct node_plan {
  action kind = action::call;
  std::uint32_t graph = 0;
  std::vector<std::uint32_t> before;  // nodes of its graph
  std::uint32_t shift = 0;            // to the peer
  std::uint32_t device = 0;
  std::uint32_t refusals = 0;  // before it is posted at all
  std::size_t words = 1;
  bool is_thorough = false;     // delivered; signalled inside the post; with a signal at the peer
  std::uint32_t other = 0;      // the graph inside, or a receive's send
  std::uint32_t spoils_of = 0;  // how many of `before` it is the first one behind: then they come first there
};

struct graph_plan {
  std::vector<std::uint32_t> nodes;
  std::optional<std::uint32_t> inside;  // the node that it is in, unless it is an outer one or shared
  bool is_shared = false;
  std::uint32_t device = 0;
  std::uint32_t runs = 0;
};

class plan {
 public:
  plan(const shape& wanted, std::uint64_t number) : form{wanted}, seed{number}, random_{number} {
    for (int i = 0; i < 2; ++i) {
      const std::uint32_t made = grow(1, std::nullopt, true);
      shared_.push_back(made);
    }
    for (std::uint32_t i = 0; i < form.graphs; ++i) {
      outer.push_back(grow(0, std::nullopt, false));
      // The first two share one whatever is drawn.
      if (i < 2) add(outer.back(), action::inner).other = shared_.back();
    }
    for (const std::uint32_t each : outer) count_runs(each, form.runs);
    for (const node_plan& each : nodes) arrivals += arrives(each) ? graphs[each.graph].runs : 0;
  }

  /// Whether the peer gets a message.
  [[nodiscard]] static bool arrives(const node_plan& of) {
    return of.kind == action::message || of.kind == action::put || (of.kind == action::get && of.is_thorough);
  }
  /// The content of a node's message in a run.
  [[nodiscard]] std::uint64_t key(std::uint32_t rank, std::uint32_t node, std::uint32_t run) const {
    return ((seed * 0x9e3779b97f4a7c15 + rank) * 0x9e3779b97f4a7c15 + node) * 0x9e3779b97f4a7c15 + run * 0x100000001;
  }

  const shape form;
  const std::uint64_t seed;
  std::deque<node_plan> nodes;
  std::deque<graph_plan> graphs;
  std::vector<std::uint32_t> outer;
  std::uint64_t arrivals = 0;  // at each rank

 private:
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(random_() % bound); }

  node_plan& add(std::uint32_t graph, action kind) {
    static constexpr std::size_t sizes[] = {1, 5, 60, 700, words_max};
    const auto number = static_cast<std::uint32_t>(nodes.size());
    std::vector<std::uint32_t>& others = graphs[graph].nodes;
    node_plan& made = nodes.emplace_back();
    made.kind = kind;
    made.graph = graph;
    made.device = below(form.on_own + 1);
    made.refusals = below(4) == 0 ? 1 + below(3) : 0;
    made.words = sizes[below(std::size(sizes))];
    made.is_thorough = below(2) == 0;
    // A receive lies beside its send.
    const std::size_t choice = others.size() - (kind == action::receive ? 1 : 0);
    for (std::uint32_t i = choice == 0 ? 0 : below(4); i > 0; --i) {
      const std::uint32_t before = others[below(static_cast<std::uint32_t>(choice))];
      if (std::ranges::find(made.before, before) == made.before.end()) made.before.push_back(before);
    }
    const auto first_elsewhere = std::partition(made.before.begin(), made.before.end(),
                                                [&](std::uint32_t each) { return !has_successor_[each]; });
    made.spoils_of = static_cast<std::uint32_t>(first_elsewhere - made.before.begin());
    for (const std::uint32_t each : made.before) has_successor_[each] = true;
    has_successor_.push_back(false);
    others.push_back(number);
    return made;
  }

  std::uint32_t grow(std::uint32_t depth, std::optional<std::uint32_t> inside, bool is_local) {
    const auto number = static_cast<std::uint32_t>(graphs.size());
    graphs.emplace_back().inside = inside;
    graphs[number].is_shared = depth == 1 && !inside;
    graphs[number].device = below(form.on_own + 1);
    for (std::uint32_t left = 1 + below(form.nodes_max); left > 0; --left) {
      const std::uint32_t drawn = below(16);
      if (drawn < 2 && depth < 2) {
        const bool takes_shared = drawn == 0 && !shared_.empty();
        node_plan& node = add(number, action::inner);
        const auto node_number = static_cast<std::uint32_t>(nodes.size() - 1);
        node.other = takes_shared ? shared_[below(static_cast<std::uint32_t>(shared_.size()))]
                                  : grow(depth + 1, node_number, is_local);
      } else if (drawn < 6) {
        const std::uint32_t shift = is_local ? 0 : below(form.ranks);
        node_plan& send = add(number, action::send);
        const auto send_number = static_cast<std::uint32_t>(nodes.size() - 1);
        send.shift = shift;
        node_plan& receive = add(number, action::receive);
        receive.shift = shift;
        receive.words = send.words;
        receive.other = send_number;
      } else {
        static constexpr action others[] = {action::call, action::by_thread, action::message, action::put, action::get};
        add(number, others[drawn % std::size(others)]).shift = below(form.ranks);
      }
    }
    return number;
  }

  void count_runs(std::uint32_t graph, std::uint32_t runs) {
    graphs[graph].runs += runs;
    for (const std::uint32_t each : graphs[graph].nodes) {
      if (nodes[each].kind == action::inner) count_runs(nodes[each].other, runs);
    }
  }

  std::mt19937_64 random_;
  std::vector<std::uint32_t> shared_;
  std::vector<bool> has_successor_;
};

}  // namespace weft::test::random_graphs
