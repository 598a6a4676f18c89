// SPDX-License-Identifier: BSD-3-Clause
#include "uts/options.hpp"

#include <cstdint>
#include <string>

#include "command_line.hpp"
#include "program_version.hpp"

namespace weft_uts {

namespace {

// Refuses a tree that can't be counted: one that has no expected end (a seed may end it, as it does for T3L, but only
// counting shows that), or one with more nodes than all machines together count in years.
void check_end(const tree_options& tree) {
  constexpr double nodes_max = 1e16;
  const double nodes = expected_nodes(tree);
  if (nodes <= nodes_max || find_known(tree) != nullptr) return;
  const std::string advice = ": give --nodes-max, after which the search gives up";
  const bool is_binomial = tree.type != tree_type::geometric && tree.branching * tree.children >= 1;
  if (is_binomial) {
    throw weft::command_mistake{"-q",
                                "a node has -q times -m children, and from 1 on the tree has no expected end" + advice};
  }
  const bool rises =
      tree.type == tree_type::geometric && tree.shape == tree_shape::exponential && tree.root_children <= 1;
  throw weft::command_mistake{rises ? "-b" : "-d",
                              rises ? "an exponential tree with -b up to 1 has no expected end" + advice
                                    : "the tree has more than 10^16 nodes" + advice};
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv) {
  command_line out;
  tree_options& tree = out.search.tree;
  unsigned type = static_cast<unsigned>(tree.type);
  unsigned shape = static_cast<unsigned>(tree.shape);
  bool quiet = false;
  weft::command_parser parser{
      "Counts the nodes of an unbalanced tree, with all processes and threads that it is given.", "weft-uts",
      weft::version_of("weft-uts")};
  const auto add = [&parser](const char* name, auto& number, auto min, auto max, const char* help) {
    parser.add_number(name, number, min, max, help).with_default(weft::number_text(number));
  };
  add("-t", type, 0, 2, "0 binomial, 1 geometric, 2 hybrid: first geometric, then binomial");
  add("-a", shape, 0, 3, "of a geometric tree: 0 linear, 1 exponential, 2 cyclic, 3 fixed");
  add("-b", tree.root_children, 0.0, 1e6, "children of the root, b0");
  add("-r", tree.seed, 0, 0x7fffffff, "seed of the root");
  add("-d", tree.depth, 1, 1 << 20, "depth of a geometric tree, about");
  add("-q", tree.branching, 0.0, 1.0, "of a binomial tree: how likely a node has children");
  add("-m", tree.children, 0, 1000, "of a binomial tree: how many it has then");
  add("-f", tree.shift, 0.0, 1.0, "of a hybrid tree: the part of its depth where it turns binomial");
  add("--workers", out.search.workers, 1, 1024, "threads of each process that run fibers");
  add("--fibers", out.search.fibers, 1, 100000, "fibers of each worker that walk");
  add("--chunk", out.search.chunk, 1, 64, "nodes that are stolen at a time, at most");
  const weft::command_option bound = parser.add_number("--nodes-max", out.search.nodes_max, 1, ~std::uint64_t{0} - 1,
                                                       "give up a tree that has more nodes");
  parser.add_flag("--sequential", out.sequential, "a plain traversal by one thread, to compare with");
  parser.add_flag("--verify", out.verify, "fail unless this is a known tree, and the counts are the known ones");
  parser.add_flag("--json", out.json, "one JSON object instead of text");
  parser.add_flag("--no-progress", quiet, "no progress line, even on a terminal");
  auto answer = parser.parse(argc, argv);
  try {
    tree.type = static_cast<tree_type>(type);
    tree.shape = static_cast<tree_shape>(shape);
    if (!answer && !bound.is_given()) check_end(tree);
  } catch (const weft::command_mistake& mistake) {
    answer = parser.refuse(mistake);
  }
  if (answer) {
    out.exit_code = answer->exit_code;
    out.text = answer->text;
  }
  out.show_progress = !quiet;
  return out;
}

}  // namespace weft_uts
